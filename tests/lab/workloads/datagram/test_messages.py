"""The messages of datagram publishers: identity, content and size."""

from __future__ import annotations

import pytest

from penstock.content.codec.datagram import datagram_of, encode_message
from penstock.lab.workloads.attribute_values import InvalidAttributeSpec
from penstock.lab.workloads.datagram.messages import DatagramSource, UnreachableSize
from penstock.lab.workloads.message_source import identity_of
from penstock.services.datagram.messages import FlowTag, Publication
from penstock.services.datagram.parameters import DatagramParameters, Law

SENT_AT = 1_790_000_000_123_456_789
TAG = FlowTag("subscriber-1@far", 1, 100_000, 10_000_000, 2**31)


def source(message_bytes: int = 0, law: Law = "improved", **attributes: str) -> DatagramSource:
    parameters = DatagramParameters(law=law)
    return DatagramSource("publisher-1", "near", dict(attributes), message_bytes, parameters, 1)


def on_the_wire(made: DatagramSource, number: int, *tags: FlowTag) -> int:
    """The length of a datagram with one message."""
    attributes, payload = made.attributes(number), made.payload(number)
    message = Publication(
        "publisher-1@near", SENT_AT, 100_001, SENT_AT, 1000.0, bytes(64), tags, attributes, payload
    )
    return len(datagram_of([encode_message(message)]))


def test_a_payload_carries_the_identity_of_its_message() -> None:
    made = source()
    assert identity_of(made.payload(17)) == (made.producer_hash, 17)


@pytest.mark.parametrize("kind", ["wanted", "other", "share:0.5,short,much-longer-than-that"])
def test_a_message_with_its_tag_has_the_size_asked_for(kind: str) -> None:
    made = source(280, kind=kind)
    assert {on_the_wire(made, number, TAG) for number in range(20)} == {280}


def test_without_control_messages_have_the_same_size_without_a_tag() -> None:
    made = source(280, "none", kind="wanted")
    assert on_the_wire(made, 3) == 280
    assert len(made.payload(3)) > len(source(280, kind="wanted").payload(3))


def test_a_size_below_the_smallest_message_is_refused_with_that_size() -> None:
    with pytest.raises(UnreachableSize, match=r"'publisher-1': message_bytes = 50 .* at least \d+"):
        source(50, kind="wanted")
    with pytest.raises(UnreachableSize) as refused:
        source(50)
    least = int(str(refused.value).split()[-2])
    assert on_the_wire(source(least), 0, TAG) == least


def test_messages_depend_on_seed_and_number_alone() -> None:
    one, same = source(kind="choice:a,b,c,d"), source(kind="choice:a,b,c,d")
    assert [one.attributes(each) for each in range(50)] == [
        same.attributes(each) for each in range(50)
    ]
    other = DatagramSource(
        "publisher-1", "near", {"kind": "choice:a,b,c,d"}, 0, DatagramParameters(), 2
    )
    assert any(one.attributes(each) != other.attributes(each) for each in range(50))


def test_a_malformed_attribute_is_refused() -> None:
    with pytest.raises(InvalidAttributeSpec):
        source(kind="cycle:x")
