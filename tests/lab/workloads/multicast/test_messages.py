"""The messages of a sender have the size that the scenario asks for, and are its own."""

from __future__ import annotations

import msgspec
import pytest

from penstock.content.codec.size import encoded_size
from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.lab.workloads.message_source import UnreachableSize, identity_of
from penstock.lab.workloads.multicast.messages import GroupMessages
from penstock.lab.workloads.multicast.tables import GroupSender
from penstock.services.multicast.messages import Destination, Multicast

TABLE = GroupSender(service="multicast", name="acfg7", broker="A", groups=("cfg",), wire_bytes=1000)


def on_a_link(source: GroupMessages, sender: str, receivers: tuple[str, ...]) -> int:
    """The size of a real message."""
    return encoded_size(
        Multicast(
            "A", 1_700_000_000 * SECOND, sender, 431, ("cfg",),
            tuple(Destination(each, 0x7AD1_0000, 8_437, 8_401) for each in receivers),
            0.0371, (), 2, source.batch(431, 1),
        )
    )  # fmt: skip


@pytest.mark.parametrize("known_as", ["acfg7", "acfg7/0123456789abcdef"])
@pytest.mark.parametrize("receivers", [("G",), ("R7", "R8", "R9")])
def test_a_packet_is_a_thousand_bytes(known_as: str, receivers: tuple[str, ...]) -> None:
    table = msgspec.structs.replace(TABLE, wire_receivers=len(receivers))
    source = GroupMessages(table, 1, known_as)
    assert on_a_link(source, known_as, receivers) == pytest.approx(1000, abs=8)


def test_without_wire_bytes_the_payload_has_its_size() -> None:
    source = GroupMessages(msgspec.structs.replace(TABLE, wire_bytes=0, payload_bytes=333), 1)
    attributes, payload = source.row(5)
    assert (attributes, len(payload)) == ({}, 333)
    assert identity_of(payload) == (source.producer_hash, 5)


def test_a_message_that_cannot_be_so_small_is_refused() -> None:
    with pytest.raises(UnreachableSize, match="acfg7"):
        GroupMessages(msgspec.structs.replace(TABLE, wire_bytes=100), 1)


def test_attributes_are_a_function_of_the_number() -> None:
    table = msgspec.structs.replace(TABLE, attributes={"n": "number:", "who": "me"})
    batch: Batch = GroupMessages(table, 1).batch(9, 1)
    assert batch.attribute_rows() == [{"n": 9, "who": "me"}]
