"""Whatever arrives, a peer's decoder refuses it or its machine lives with it.

Three strangers: one sends bytes, one changes bytes of real datagrams and mends their checksum, and
one writes well-formed envelopes around whatever MessagePack can say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from penstock.content.codec.envelope import CHECKSUM, ENVELOPE, MAGIC, PREAMBLE, WIRE_VERSION
from penstock.content.codec.malformed import MalformedMessage
from penstock.content.codec.stream import Decoder, encode
from penstock.core.datagrams import DatagramReceived
from penstock.core.machine import DeadlineReached
from penstock.core.message import Message
from penstock.services.gossip.facts import (
    DeliverEvents,
    FromGroup,
    InGroup,
    JoinGossipGroup,
    PublishEvent,
)
from penstock.services.gossip.host import GossipHost
from penstock.services.gossip.messages import (
    GOSSIP_MESSAGES,
    LARGEST_ADVANCE,
    LATEST_PERIOD,
    Acquaintance,
    BufferClaim,
    Event,
    Gossip,
    Header,
    event_id,
)
from penstock.services.gossip.parameters import GossipParameters

CARRIED = (str, int, float, bool, bytes)

DECODER: Decoder[Message] = Decoder(GOSSIP_MESSAGES)

EVENT = Event(event_id(5, 1), b"payload", {"price": 1.5, "symbol": "ACME", "raw": b"\x00"})

HEADER = Header(
    members=(Acquaintance("127.0.0.1:9", 0), Acquaintance("127.0.0.1:8", 3)),
    departed=("127.0.0.1:7",),
    period=4,
    poorest=(BufferClaim(30, 9),),
    size_period=1,
    size_sketch=bytes(64),
    mean_rate_msgs_per_s=0.5,
    mean_rate_weight=1.0,
    receipt=0.9,
    receipt_weight=1.0,
)

HEADER_FIELD, EVENTS_FIELD = 3, 4
"""Where they stand in the array that a gossip is on the wire, behind its type."""

REAL = b"".join(encode(Gossip("g", "127.0.0.1:9", HEADER, (EVENT,), b"\x03")))


def enveloped(head: bytes) -> bytes:
    """Any head in an envelope whose lengths and checksum fit."""
    lead = head + bytes(-len(head) & 7)
    preamble = PREAMBLE.pack(MAGIC, WIRE_VERSION, 0, len(head), len(lead))
    return preamble + CHECKSUM.pack(xxh3_64_intdigest(preamble + lead)) + lead


def head_of(datagram: bytes) -> bytes:
    length = ENVELOPE.unpack_from(datagram)[3]
    return datagram[ENVELOPE.size : ENVELOPE.size + length]


def host() -> GossipHost:
    made = GossipHost("127.0.0.1:1", 20, 1)
    made.handle(JoinGossipGroup(GossipParameters(group="g"), ("127.0.0.1:9",)), now=0)
    return made


def survives(machine: GossipHost, datagram: bytes) -> bool:
    """Hand a datagram over as the endpoint does; whether it was a message.

    Whatever is delivered is what an application was promised, and afterwards the peer still
    publishes, ends its round, and gossips what a decoder understands.
    """
    try:
        message = DECODER.decode(datagram)
    except MalformedMessage:
        return False
    for effect in machine.handle(DatagramReceived("127.0.0.1:9", message), now=0):
        if isinstance(effect, FromGroup) and isinstance(effect.effect, DeliverEvents):
            for event in effect.effect.events:
                assert all(type(value) in CARRIED for value in event.attributes.values())
                msgspec.msgpack.encode(event)
    machine.check_invariants()
    machine.handle(InGroup("g", PublishEvent(1, b"x")), now=0)
    deadline = machine.next_deadline()
    assert deadline is not None
    for effect in machine.handle(DeadlineReached(), now=deadline):
        sent = getattr(effect, "message", None)
        if sent is not None:
            assert DECODER.decode(b"".join(encode(sent))) == sent
    machine.check_invariants()
    return True


def test_the_real_one_is_understood() -> None:
    machine = host()
    assert survives(machine, REAL)
    assert machine.peers["g"].delivered == 1
    assert survives(host(), enveloped(head_of(REAL)))


@given(st.binary(max_size=300))
def test_bytes_of_a_stranger(data: bytes) -> None:
    assert not survives(host(), data)
    survives(host(), enveloped(data))


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_real_datagram_with_other_bytes(changes: list[tuple[int, int]]) -> None:
    head = bytearray(head_of(REAL))
    for place, value in changes:
        head[place % len(head)] = value
    survives(host(), enveloped(bytes(head)))


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_real_datagram_with_a_piece_cut_out(begin: int, length: int) -> None:
    head = head_of(REAL)
    begin %= len(head)
    survives(host(), enveloped(head[:begin] + head[begin + length % len(head) :]))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=5), ANYTHING, max_size=3))
def test_attributes_of_every_type(attributes: dict[str, Any]) -> None:
    """What a message can carry is delivered, and anything else refused with its datagram."""
    fits = all(
        type(value) in CARRIED and not (type(value) is int and value >= 2**63)
        for value in attributes.values()
    )
    head = msgspec.msgpack.decode(head_of(REAL))
    head[HEADER_FIELD], head[EVENTS_FIELD] = None, [[EVENT.id, b"", attributes]]
    assert survives(host(), enveloped(msgspec.msgpack.encode(head))) == fits


@given(st.dictionaries(st.integers(0, 5), ANYTHING, min_size=1))
def test_fields_of_every_type(fields: dict[int, Any]) -> None:
    head = msgspec.msgpack.decode(head_of(REAL))
    for place, value in fields.items():
        head[place] = value
    survives(host(), enveloped(msgspec.msgpack.encode(head)))


@given(st.integers(0, 9), ANYTHING)
def test_header_fields_of_every_type(place: int, value: Any) -> None:
    head = msgspec.msgpack.decode(head_of(REAL))
    head[HEADER_FIELD][place] = value
    survives(host(), enveloped(msgspec.msgpack.encode(head)))


@pytest.mark.parametrize("depth", [100, 60_000])
def test_values_nested_without_end(depth: int) -> None:
    head = head_of(REAL).replace(b"\xa5price", b"\xa5price" + b"\x91" * depth)
    assert not survives(host(), enveloped(head))


def forged(make_header: Callable[..., Header], **changes: object) -> bytes:
    header = make_header("127.0.0.1:9", **changes)
    return b"".join(encode(Gossip("g", "127.0.0.1:9", header, (), b"")))


def test_nobody_can_push_the_periods_to_their_end(make_header: Callable[..., Header]) -> None:
    """One gossip leads a little ahead, so that the group's own counting always fits the wire."""
    machine = host()
    adaptation = machine.peers["g"].adaptation
    own = adaptation.minimum_buffer.period
    latest = {"period": LATEST_PERIOD, "size_period": LATEST_PERIOD, "size_sketch": bytes(64)}
    assert survives(machine, forged(make_header, **latest))
    assert own + LARGEST_ADVANCE <= adaptation.minimum_buffer.period <= own + LARGEST_ADVANCE + 1
    assert adaptation.group_size.period == LARGEST_ADVANCE
    assert not survives(machine, forged(make_header, period=LATEST_PERIOD + 1))


def test_an_event_that_is_too_large_to_pass_on_is_refused() -> None:
    machine = host()
    large = Event(event_id(5, 2), bytes(20_000))
    datagram = b"".join(encode(Gossip("g", "127.0.0.1:9", None, (large, EVENT), b"\x00\x00")))
    assert survives(machine, datagram)
    peer = machine.peers["g"]
    assert (peer.delivered, peer.gate.refused_events) == (1, 1)
