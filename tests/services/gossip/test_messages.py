"""Gossip survives the wire, and what is not gossip is refused by the decoder."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.codec.malformed import MalformedMessage
from penstock.content.codec.stream import Decoder, encode
from penstock.core.message import Message
from penstock.services.gossip.messages import (
    GOSSIP_MESSAGES,
    Event,
    Gossip,
    Header,
    WhyRequest,
    event_id,
)


def decoder() -> Decoder[Message]:
    return Decoder(GOSSIP_MESSAGES)


def test_a_gossip_survives_the_wire(
    make_header: Callable[..., Header], make_event: Callable[..., Event]
) -> None:
    event = Event(event_id(2**63 - 1, 9), b"\x00payload", {"price": 1.5, "symbol": "ACME"})
    gossip = Gossip("g", "a:1", make_header(), (event, make_event(2)), bytes([0, 255]))
    assert decoder().decode(b"".join(encode(gossip))) == gossip
    assert decoder().decode(b"".join(encode(WhyRequest("g", 5)))) == WhyRequest("g", 5)


def test_an_identifier_of_the_wrong_length_is_refused() -> None:
    gossip = Gossip("g", "a:1", None, (Event(b"short", b""),), b"\x00")
    with pytest.raises(MalformedMessage):
        decoder().decode(b"".join(encode(gossip)))


@given(st.binary(max_size=200))
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decoder().decode(data)


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_a_flipped_bit_is_noticed(place: int, bit: int) -> None:
    data = bytearray(b"".join(encode(WhyRequest("a group", 12345))))
    data[place % len(data)] ^= 1 << bit
    try:
        decoded = decoder().decode(bytes(data))
    except MalformedMessage:
        return
    assert decoded == WhyRequest("a group", 12345), "only padding may differ unnoticed"
