from __future__ import annotations

from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.block import Block
from penstock.content.rows.frame import Frame
from penstock.core.message import ClientReply, ClientRequest, Message, RowsRequest
from penstock.net.broker.config import Limits
from penstock.net.broker.ingress import (
    Breach,
    Ingress,
    Refused,
    check_neighbour,
)
from penstock.overlay.messages import Hello, LinkState
from penstock.overlay.wire import ON_CONNECTIONS, vocabulary
from penstock.services.guaranteed.messages import (
    Delivery,
    Knowledge,
    Nack,
    OpenProducer,
    Publish,
    Subscribe,
)

LIMITS = Limits(
    max_batch_rows=3,
    max_attributes=2,
    max_name_bytes=6,
    max_value_bytes=10,
    max_payload_bytes=20,
    max_window_bytes=1000,
)


def publish(*rows: tuple[dict[str, Any], bytes]) -> Publish:
    return Publish("p", 0, Batch.from_rows(list(rows)))


def test_what_keeps_to_the_limits_passes_untouched() -> None:
    message = publish(({"a": 1, "b": "x" * 10}, b"x" * 20), ({"a": 2}, b""), ({"éé": 1}, b""))

    assert Ingress(LIMITS).check_client(message) is message


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        (publish(*[({}, b"")] * 4), "max_batch_rows"),
        (publish(({"a": 1, "b": 2, "c": 3}, b"")), "max_attributes"),
        (publish(({"toolong": 1}, b"")), "max_name_bytes"),
        (publish(({"éééé": 1}, b"")), "max_name_bytes"),
        (publish(({"a": "x" * 11}, b"")), "max_value_bytes"),
        (publish(({"a": b"x" * 11}, b"")), "max_value_bytes"),
        (publish(({}, b""), ({}, b"x" * 21)), "max_payload_bytes"),
    ],
)
def test_what_breaks_a_limit_is_refused_by_its_name(message: Publish, limit: str) -> None:
    with pytest.raises(Refused, match=limit):
        Ingress(LIMITS).check_client(message)


def test_attributes_are_counted_for_each_message_and_not_for_the_batch() -> None:
    message = publish(({"a": 1, "b": 1}, b""), ({"c": 1, "d": 1}, b""))

    assert Ingress(LIMITS).check_client(message) is message


def test_values_are_measured_one_by_one() -> None:
    message = publish(({"a": "x" * 9}, b""), ({"a": "y" * 9}, b""))

    assert Ingress(LIMITS).check_client(message) is message


def test_damaged_rows_are_a_breach() -> None:
    data = bytearray(Batch.from_rows([({"a": "x"}, b"")]).encode())
    data[24] = 200  # the length of the only column's name, behind the header
    batch = Batch(1, block=Block(1, bytes(data)))

    with pytest.raises(Breach, match="malformed batch"):
        Ingress(LIMITS).check_client(Publish("p", 0, batch))


def test_a_publication_without_rows_is_a_breach() -> None:
    with pytest.raises(Breach, match="without rows"):
        Ingress(LIMITS).check_client(publish())


def test_a_window_is_cut_to_its_limit() -> None:
    ingress = Ingress(LIMITS)

    assert ingress.check_client(Subscribe("s", "", window_bytes=1 << 40)) == Subscribe(
        "s", "", window_bytes=1000
    )
    small = Subscribe("s", "", window_bytes=10)
    assert ingress.check_client(small) is small
    with pytest.raises(Breach, match="window_bytes is not positive"):
        ingress.check_client(Subscribe("s", "", window_bytes=0))


@pytest.mark.parametrize(
    "message",
    [
        LinkState("b", 1, 1, {}, ()),
        Knowledge("p", Frame(0, 1), "*"),
        Nack("p", ((0, 1),), "*"),
        Delivery("s", "p", Frame(0, 1)),
        Hello("client", "c", 1, ""),
    ],
)
def test_a_client_speaks_only_the_clients_messages(message: Message) -> None:
    with pytest.raises(Breach, match=type(message).__name__):
        Ingress(LIMITS).check_client(message)


@pytest.mark.parametrize(
    "message", [publish(({}, b"")), OpenProducer("p"), Delivery("s", "p", Frame(0, 1))]
)
def test_a_neighbour_does_not_speak_the_clients_messages(message: Message) -> None:
    with pytest.raises(Breach, match=type(message).__name__):
        check_neighbour(message)


def test_neighbours_speak_of_streams_and_of_the_overlay() -> None:
    check_neighbour(Knowledge("p", Frame(0, 1)))
    check_neighbour(LinkState("b", 1, 1, {}, ()))


def test_the_vocabularies_are_on_the_wire_and_apart() -> None:
    requests, replies = set(vocabulary(ClientRequest)), set(vocabulary(ClientReply))
    assert requests
    assert replies
    assert not requests & replies
    assert requests | replies < set(vocabulary(*ON_CONNECTIONS))


def test_every_request_with_rows_can_be_refused_and_has_rows() -> None:
    with_rows = vocabulary(RowsRequest)
    assert with_rows
    for kind in with_rows:
        assert kind.refused is not RowsRequest.refused
        assert "batch" in kind.__struct_fields__
