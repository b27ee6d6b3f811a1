"""The publisher's half of the congestion control: what may go now, and what waits (III-B 8).

1. A message is part of every controlled flow whose filter matches it.  If each of them has a token
   and nothing waits in it, the message takes the tokens and goes; messages of no controlled flow go
   at once, whatever happens to the others.
2. Otherwise it waits in the flow that makes it wait longest.  Each flow holds a bounded number; a
   message beyond that is not taken.
3. Tokens go to the message that has waited longest of those that are the first in their flows.  A
   flow whose messages are part of a busier one, too, would otherwise never find a token there.
4. A message that waits past its deadline is given up.
5. Numbers, time stamps and records are those of the moment of sending.

Pure: the caller sends the publications and tells the application what became of its messages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from typing import Final, NoReturn

import msgspec

from penstock.content.bloom.encoding import encode_message, encoding_bytes
from penstock.core.clock import NEVER, Instant, earliest
from penstock.core.machine import InvariantBroken
from penstock.mechanisms.rate_meter import AdaptiveRateMeter
from penstock.services.datagram.attribute_cache import AttributeCache
from penstock.services.datagram.laws.choice import chosen_law
from penstock.services.datagram.messages import (
    Attribute,
    ClientAddress,
    EchoReply,
    EchoRequest,
    Feedback,
    FlowTag,
    Publication,
)
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.publisher.cover_index import Slot
from penstock.services.datagram.publisher.flow_columns import Flow
from penstock.services.datagram.publisher.flow_table import FlowTable
from penstock.services.datagram.subscriber.publication_record import ENCODING_BYTES

HEAD_BYTES: Final = 32 + 13 + 80
"""At most what a datagram's own header, the tag, and the fields of a publication that are always
there take."""

ATTRIBUTE_BYTES: Final = 12
"""What an attribute takes beside its name and a text: two heads and a number."""

TAG_BYTES: Final = 37
"""What a flow's tag takes beside its receiver's address."""

NO_FLOWS: Final[Sequence[Slot]] = ()

ROOM_FOR_TAGS_BYTES: Final = 160
"""Kept free in every datagram for the tags of two flows or three."""


KEPT_ENCODINGS: Final = 16_384
"""Bound on the encodings of attributes that are kept: values come again and again."""


@lru_cache(maxsize=KEPT_ENCODINGS, typed=True)
def _attribute_bits(name: str, value: Attribute) -> int:
    return encode_message({name: value})


class AttributesRead(msgspec.Struct, frozen=True, gc=False):
    """What the control needs to know of a message's attributes."""

    bits: int
    encoding: bytes
    """The same as they stand in a record."""
    size_bytes: int
    """What they take in a datagram, at most."""


def _read_attributes(attributes: dict[str, Attribute]) -> AttributesRead:
    bits = size_bytes = 0
    for name, value in attributes.items():
        bits |= _attribute_bits(name, value)
        size_bytes += ATTRIBUTE_BYTES + len(name.encode())
        if isinstance(value, str):
            size_bytes += len(value.encode())
    return AttributesRead(bits, encoding_bytes(bits), size_bytes)


class TooLarge(ValueError):
    """A message does not fit into a datagram."""


class QueueFull(Exception):
    """A message was not taken, because as many wait in its flow as may."""

    def __init__(self, flow: Flow) -> None:
        """``flow`` is the one that holds it back."""
        super().__init__(
            f"{len(flow.waiting)} messages wait in the flow {flow.text!r}, which "
            f"{flow.receiver} limits to {flow.quota_msgs_per_s:.3g} messages a second"
        )
        self.flow = flow


class WaitingPublication(msgspec.Struct, frozen=True, gc=False):
    """A message that waits for tokens."""

    token: int
    arrival: int
    """Its place in the order in which messages began to wait."""
    attributes: dict[str, Attribute]
    payload: bytes
    read: AttributesRead
    expires_at: Instant


class WaitingOutcome(msgspec.Struct, frozen=True, gc=False):
    """What became of a message that waited: it goes, or (None) its deadline has passed."""

    token: int
    publication: Publication | None


class PublishingControl:
    """The state of one publisher (Figure 4)."""

    def __init__(
        self, address: ClientAddress, parameters: DatagramParameters, *, now: Instant
    ) -> None:
        """Nothing was published; ``now`` is the incarnation."""
        self.address = address
        self.table = FlowTable(parameters)
        self._tokens = self.table.columns.tokens
        self._waiting = self.table.columns.waiting
        self.sent_messages = 0
        self.refused_messages = 0
        self.expired_messages = 0
        self.feedback_messages = 0
        self.parameters = parameters
        self._controls_rates = chosen_law(parameters).controls_rates
        self._incarnation = now
        self._record: deque[bytes] = deque(maxlen=parameters.record_messages)
        record_bytes = parameters.record_messages * ENCODING_BYTES
        self._head_bytes = HEAD_BYTES + record_bytes + len(address.encode())
        self._size_limit_bytes = parameters.datagram_bytes - ROOM_FOR_TAGS_BYTES
        self._reading = AttributeCache(_read_attributes)
        self._meter = AdaptiveRateMeter(now)
        self._rate = 0.0
        self._rate_until: Instant = 0
        self._arrivals = 0
        self._wakes_at: Instant | None = None
        self._wakes_at_known = False

    # -- publishing -------------------------------------------------------------------------

    def check_size(self, attributes: dict[str, Attribute], payload: bytes) -> None:
        """Raise ``TooLarge`` if a message does not fit into one datagram."""
        content_bytes = self._reading.of(attributes).size_bytes + len(payload)
        if self._head_bytes + content_bytes > self._size_limit_bytes:
            self._refuse_size(content_bytes)

    def _refuse_size(self, content_bytes: int) -> NoReturn:
        raise TooLarge(
            f"a message of {self._head_bytes + content_bytes} bytes with its header; one datagram "
            f"carries at most {self._size_limit_bytes} (datagram_bytes = "
            f"{self.parameters.datagram_bytes}): shorten the payload, raise datagram_bytes if the "
            "network carries larger datagrams, or use the guaranteed service"
        )

    def offer(
        self,
        token: int,
        attributes: dict[str, Attribute],
        payload: bytes,
        now: Instant,
        expires_at: Instant = NEVER,
    ) -> Publication | None:
        """A publication to send at once; None if it waits; raises ``QueueFull``, ``TooLarge``."""
        read = self._reading.of(attributes)
        if self._head_bytes + read.size_bytes + len(payload) > self._size_limit_bytes:
            self._refuse_size(read.size_bytes + len(payload))
        slots = self.table.matching(attributes) if self.table.slots else NO_FLOWS
        if self._may_go(slots, now):
            return self._send(attributes, payload, read, slots, now)
        slowest = max(
            (self.table.flow(slot) for slot in slots if not self._may_go((slot,), now)),
            key=lambda flow: (1 + len(flow.waiting)) / flow.quota_msgs_per_s,
        )
        slowest.held_back = True
        if len(slowest.waiting) >= self.parameters.queue_messages:
            self.refused_messages += 1
            raise QueueFull(slowest)
        self._arrivals += 1
        slowest.wait(
            (WaitingPublication(token, self._arrivals, attributes, payload, read, expires_at),)
        )
        self._wakes_at_known = False
        return None

    def _may_go(self, slots: Sequence[Slot], now: Instant) -> bool:
        """Whether every flow has a token and holds nothing back (rule 1)."""
        for slot in slots:
            if slot in self._waiting or not self._tokens.ready(slot, now):
                return False
        return True

    def _send(
        self,
        attributes: dict[str, Attribute],
        payload: bytes,
        read: AttributesRead,
        slots: Sequence[Slot],
        now: Instant,
    ) -> Publication:
        for slot in slots:
            self._tokens.take(slot)
        self.sent_messages += 1
        self._meter.add(now)
        if now >= self._rate_until:
            self._rate = self._meter.per_second(now)
            self._rate_until = now + self.parameters.report_interval_ns
        record = b"".join(self._record)
        self._record.appendleft(read.encoding)
        return Publication(
            self.address,
            self._incarnation,
            self.sent_messages,
            now,
            self._rate,
            record,
            self._tags(slots, attributes, payload) if slots else (),
            attributes,
            payload,
        )

    def _tags(
        self, slots: Sequence[Slot], attributes: dict[str, Attribute], payload: bytes
    ) -> tuple[FlowTag, ...]:
        """The tags of as many flows as fit; the others' numbers do not advance."""
        used = self._head_bytes + len(payload) + 2 * ATTRIBUTE_BYTES * len(attributes)
        room = max(ROOM_FOR_TAGS_BYTES, self.parameters.datagram_bytes - 2 * used)
        tags = []
        columns = self.table.columns
        for slot in slots:
            room -= TAG_BYTES + len(columns.receivers[slot])
            if room < 0:
                break
            tags.append(columns.tag(slot))
        return tuple(tags)

    # -- reports and echoes -----------------------------------------------------------------

    def feedback(self, feedback: Feedback, now: Instant) -> None:
        """A subscriber reports."""
        self.feedback_messages += 1
        if self._controls_rates:
            self.table.feedback(feedback, now)
            self._wakes_at_known = False

    def echo(self, request: EchoRequest, now: Instant) -> EchoReply:
        """The answer to an echo."""
        return EchoReply(request.sender, self.address, request.sent_at, now)

    # -- time -------------------------------------------------------------------------------

    def due(self, now: Instant) -> list[WaitingOutcome]:
        """What became of messages that waited, in the order in which they waited."""
        stale_at = self.table.stale_at()
        if stale_at is not None and stale_at <= now:
            self.table.loosen_stale(now)
        out = self._release(now)
        self._wakes_at_known = False
        return out

    def _release(self, now: Instant) -> list[WaitingOutcome]:
        """Send what has its tokens, the message that has waited longest first (rule 3)."""
        out: list[WaitingOutcome] = []
        heads = [(flow.waiting[0].arrival, flow.key, flow) for flow in self.table.flows_that_wait()]
        heapify(heads)
        while heads:
            flow = heads[0][2]
            head: WaitingPublication = flow.waiting[0]
            if head.expires_at <= now:
                self.expired_messages += 1
                out.append(WaitingOutcome(head.token, None))
            else:
                slots = self.table.matching(head.attributes)
                if not all(self._tokens.ready(slot, now) for slot in slots):
                    heappop(heads)
                    continue
                sent = self._send(head.attributes, head.payload, head.read, slots, now)
                out.append(WaitingOutcome(head.token, sent))
            flow.first_goes()
            if flow.waiting:
                heapreplace(heads, (flow.waiting[0].arrival, flow.key, flow))
            else:
                heappop(heads)
        return out

    def next_deadline(self) -> Instant | None:
        """When something is due."""
        if not self._wakes_at_known:
            self._wakes_at = self._earliest()
            self._wakes_at_known = True
        return self._wakes_at

    def _earliest(self) -> Instant | None:
        first = self.table.stale_at()
        for flow in self.table.flows_that_wait():
            head: WaitingPublication = flow.waiting[0]
            slots = self.table.matching(head.attributes)
            ready_at = max(map(self._tokens.ready_at, slots), default=0)
            first = earliest(first, min(ready_at, head.expires_at))
        return first

    def give_up_waiting(self) -> list[int]:
        """Forget every message that waits; their tokens, in order."""
        given_up: list[int] = []
        for flow in self.table.flows_that_wait():
            given_up += [each.token for each in flow.waiting]
            flow.nothing_waits()
        self._wakes_at_known = False
        return given_up

    def check_invariants(self) -> None:
        """No quota is below the floor, and no flow is controlled twice."""
        flows = self.table.flows
        floor = self.parameters.quota_floor_msgs_per_s
        if any(flow.quota_msgs_per_s < floor for flow in flows):
            raise InvariantBroken("a flow's quota is below the floor")
        if len({flow.text for flow in flows}) < len(flows):
            raise InvariantBroken("two flows have the same filter")

    def publish_rate_msgs_per_s(self, now: Instant) -> float:
        """What goes out at present."""
        return self._meter.per_second(now)

    @property
    def waiting_messages(self) -> int:
        """How many messages wait for tokens."""
        return sum(len(flow.waiting) for flow in self.table.flows_that_wait())
