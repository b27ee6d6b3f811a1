"""Messages in datagrams, and datagrams that are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.wire import MalformedMessage, encode
from penstock.datagram.messages import AddressBound, BindAddress
from penstock.net.datagram_packing import packed, unpacked
from penstock.overlay.wire import datagram_decoder

MESSAGES = st.lists(st.binary(max_size=300).map(BindAddress), max_size=12)


@given(MESSAGES)
@settings(deadline=None)
def test_what_is_packed_comes_out_again_and_no_datagram_is_too_large(
    messages: list[BindAddress],
) -> None:
    encoded = [b"".join(encode(each)) for each in messages]
    datagrams = packed(encoded, 800)
    assert all(len(each) <= 800 for each in datagrams)
    decoder = datagram_decoder()
    assert [each for data in datagrams for each in unpacked(data, decoder)] == messages


def test_a_message_that_is_too_large_goes_alone() -> None:
    assert packed([b"a", b"b" * 900, b"c"], 800) == [b"a", b"b" * 900, b"c"]


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_anything_else_is_malformed_and_nothing_worse(data: bytes) -> None:
    try:
        messages = unpacked(data, datagram_decoder())
    except MalformedMessage:
        return
    assert messages == []


@given(st.integers(0, 10_000), st.integers(1, 255))
@settings(deadline=None)
def test_a_damaged_datagram_is_dropped_whole(at: int, flip: int) -> None:
    data = bytearray(b"".join(encode(AddressBound())) + b"".join(encode(BindAddress(b"secret"))))
    data[at % len(data)] ^= flip
    with pytest.raises(MalformedMessage):
        unpacked(bytes(data), datagram_decoder())
