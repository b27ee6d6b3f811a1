"""What the messages take on the wire, and that they survive it."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.codec.envelope import plain_seal
from penstock.content.codec.malformed import MalformedMessage
from penstock.content.codec.size import encoded_size
from penstock.content.codec.stream import encode
from penstock.content.rows.batch import Batch
from penstock.overlay.wire import connection_decoder
from penstock.services.multicast.groups.route import link_number
from penstock.services.multicast.messages import Destination, Multicast, PriceRecord, Prices


def message() -> Multicast:
    """For two brokers."""
    return Multicast(
        "a",
        1,
        "s",
        7,
        ("g", "h"),
        (Destination("b", 5, 6, 4), Destination("c", 5, 9, 4)),
        0.5,
        (7, 1 << 31),
        1,
        Batch.from_rows([({"n": 1}, b"payload")]),
    )


def _decoded(sent: Multicast) -> Multicast:
    decoded = connection_decoder().decode(b"".join(bytes(piece) for piece in encode(sent)))
    assert isinstance(decoded, Multicast)
    return decoded


def test_a_price_takes_at_most_64_bytes_whatever_the_names_are() -> None:
    number = link_number("a" * 64, "b" * 64)
    record = PriceRecord(number, 2**40, 123.456)
    assert encoded_size(Prices((record,))) <= 64
    assert encoded_size(Prices((record, record))) < 2 * 64, "two travel together for less"


def test_a_price_that_rides_takes_less_than_half_of_one_that_goes_alone() -> None:
    record = PriceRecord(link_number("a", "b"), 2**40, 123.456)
    plain = message()
    ridden = msgspec.structs.replace(plain, prices=(record,))
    assert encoded_size(ridden) - encoded_size(plain) <= 32
    decoded = _decoded(ridden)
    assert decoded.prices == (record,)
    assert decoded.batch.has_same_rows(plain.batch)


def test_a_message_without_the_field_has_no_prices() -> None:
    fields = ["Multicast", "a", 1, "s", 7, ["g"], [], 0.5, [], 1, 1]
    block = Batch.from_rows([({"n": 1}, b"payload")]).encode()
    frame = b"".join(bytes(each) for each in plain_seal(msgspec.msgpack.encode(fields), [block]))
    decoded = connection_decoder().decode(frame)
    assert isinstance(decoded, Multicast)
    assert decoded.prices == ()


@given(st.data())
def test_damage_never_gets_through(data: st.DataObject) -> None:
    record = PriceRecord(link_number("a", "b"), 7, 0.25)
    sent = msgspec.structs.replace(message(), prices=(record, record))
    frame = bytearray(b"".join(bytes(piece) for piece in encode(sent)))
    at = data.draw(st.integers(0, len(frame) - 1))
    frame[at] ^= data.draw(st.integers(1, 255))
    try:
        decoded = connection_decoder().decode(bytes(frame))
    except MalformedMessage:
        return
    # Rows have a checksum of their own, which is looked at where they are read.
    assert isinstance(decoded, Multicast)
    assert decoded.prices == sent.prices


@given(
    st.recursive(st.none() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(), st.lists)
)
def test_whatever_stands_for_the_prices_is_prices_or_malformed(value: object) -> None:
    fields = ["Multicast", "a", 1, "s", 7, ["g"], [], 0.5, 0, 0, 1, 1, value]
    block = Batch.from_rows([({"n": 1}, b"payload")]).encode()
    frame = b"".join(bytes(each) for each in plain_seal(msgspec.msgpack.encode(fields), [block]))
    try:
        decoded = connection_decoder().decode(frame)
    except MalformedMessage:
        return
    assert isinstance(decoded, Multicast)
    assert all(isinstance(each, PriceRecord) for each in decoded.prices)


def test_messages_survive_the_wire() -> None:
    sent = message()
    decoded = _decoded(sent)
    assert decoded.destinations == sent.destinations
    assert decoded.batch.has_same_rows(sent.batch)
