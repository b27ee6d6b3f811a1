"""Messages in datagrams, and datagrams that are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.codec.datagram import (
    OVERHEAD_BYTES,
    DatagramDecoder,
    DatagramPacker,
    datagram_of,
    encode_message,
)
from penstock.content.codec.malformed import MalformedMessage
from penstock.overlay.messages import AddressBound, BindAddress
from penstock.overlay.wire import datagram_messages

MESSAGES = st.lists(st.binary(max_size=300).map(BindAddress), max_size=12)


@given(MESSAGES)
@settings(deadline=None)
def test_what_is_packed_comes_out_again_and_no_datagram_is_too_large(
    messages: list[BindAddress],
) -> None:
    datagrams: list[bytes] = []
    packer = DatagramPacker(800, datagrams.append)
    assert packer.put_all(messages) == sum(len(encode_message(each)) for each in messages)
    packer.flush()
    packer.flush()
    assert all(OVERHEAD_BYTES < len(each) <= 800 for each in datagrams)
    reader = DatagramDecoder(datagram_messages())
    assert [each for data in datagrams for each in reader.decode(data)] == messages


def test_a_full_datagram_leaves_before_it_is_flushed() -> None:
    datagrams: list[bytes] = []
    packer = DatagramPacker(OVERHEAD_BYTES + 10, datagrams.append)
    for piece in (b"aaaa", b"bbbb", b"cccc"):
        packer.put(piece)
    assert datagrams == [datagram_of([b"aaaa", b"bbbb"])]


def test_a_message_that_is_too_large_goes_alone() -> None:
    datagrams: list[bytes] = []
    packer = DatagramPacker(800, datagrams.append)
    for piece in (b"a", b"b" * 900, b"c"):
        packer.put(piece)
    packer.flush()
    assert datagrams == [datagram_of([each]) for each in (b"a", b"b" * 900, b"c")]


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_anything_else_is_malformed_and_nothing_worse(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        DatagramDecoder(datagram_messages()).decode(data)


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_a_right_checksum_makes_no_message(piece: bytes) -> None:
    data = datagram_of([piece])
    try:
        messages = DatagramDecoder(datagram_messages()).decode(data)
    except MalformedMessage:
        return
    assert [encode_message(each) for each in messages] == [piece]


@given(st.integers(0, 10_000), st.integers(1, 255))
@settings(deadline=None)
def test_a_damaged_datagram_is_dropped_whole(at: int, flip: int) -> None:
    pieces = [encode_message(AddressBound()), encode_message(BindAddress(b"secret"))]
    data = bytearray(datagram_of(pieces))
    data[at % len(data)] ^= flip
    with pytest.raises(MalformedMessage):
        DatagramDecoder(datagram_messages()).decode(bytes(data))
