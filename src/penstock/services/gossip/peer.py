"""One member of one gossip group: lpbcast (Figure 1) with adaptation (Figure 5).

1. Every T the peer grows its events older, drops those beyond the age limit, and sends what it
   holds, with a header, to ``fanout`` members of its partial view.  Peers are not synchronised:
   each begins at a phase of its own.
2. What arrives is delivered once and held; an older copy raises an event's age.  The events that
   the poorest buffer would lose are accounted for, then those that do not fit are dropped.
3. A publication waits until there is a token.  Publications that wait are bounded; one too many,
   or one that fits no datagram, is refused with the reason.
4. Leaving sends a farewell to the next targets; a peer that has left neither hears nor speaks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

import msgspec

from penstock.core.clock import Instant, earliest, in_seconds
from penstock.core.datagrams import Address, DatagramReceived, SendDatagram
from penstock.core.machine import DeadlineReached, Effect, Fact, InvariantBroken, Trace
from penstock.core.randomness import random_stream
from penstock.mechanisms.token_bucket import TokenBucket
from penstock.services.gossip.events.event_buffer import SERIAL_BITS, EventBuffer
from penstock.services.gossip.events.known_events import KnownEvents
from penstock.services.gossip.facts import (
    DeliverEvents,
    Leave,
    Meet,
    PublicationRefused,
    Publish,
    Published,
    ResizeBuffer,
)
from penstock.services.gossip.flood_gate import FloodGate
from penstock.services.gossip.laws.adaptation import Adaptation
from penstock.services.gossip.membership.view import PartialView
from penstock.services.gossip.messages import (
    EVENT_ID_BYTES,
    Event,
    EventId,
    Gossip,
    Header,
    event_id,
)
from penstock.services.gossip.packing import FRAME_BYTES, event_bytes, packed
from penstock.services.gossip.parameters import GossipParameters
from penstock.services.gossip.telemetry import peer_records

INITIAL_TOKENS_SHARE: Final = 0.5
"""The bucket begins half full, as its average does."""


class Peer:
    """The machine."""

    def __init__(
        self, address: Address, parameters: GossipParameters, seed: int | str, *, now: Instant
    ) -> None:
        """``address`` is what others send to; the seed decides every draw of this peer."""
        self.address = address
        self.parameters = parameters
        self.origin = random_stream(seed, address, "origin").getrandbits(63)
        self.buffer = EventBuffer(parameters.buffer_events)
        self.known = KnownEvents(parameters.known_events)
        self.view = PartialView(
            address,
            parameters,
            random_stream(seed, address, "view"),
            balanced=parameters.law == "improved",
        )
        self.adaptation = Adaptation(
            parameters,
            self.origin,
            size_random=random_stream(seed, address, "size"),
            draw_random=random_stream(seed, address, "increase"),
        )
        self.gate = FloodGate(
            source_limit=parameters.datagrams_per_source,
            sources=parameters.sources_per_round,
            origin_limit=parameters.events_per_origin,
        )
        bucket = parameters.adaptation.bucket_tokens
        self.bucket = TokenBucket(
            self.adaptation.rate_msgs_per_s,
            tokens=bucket * INITIAL_TOKENS_SHARE,
            least_capacity=bucket,
            now=now,
        )
        self._event_room_bytes = parameters.datagram_bytes - FRAME_BYTES - len(address.encode())
        self.waiting: deque[Publish] = deque()
        self.published = 0
        self._published_before = 0
        self.delivered = 0
        self.dropped = 0
        self.dropped_age_sum = 0
        self.left = False
        phase = random_stream(seed, address, "phase").randrange(parameters.gossip_period_ns)
        self._next_round: Instant = now + phase

    # -- the contract -----------------------------------------------------------------------

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Take one fact in and give the orders that follow from it."""
        if self.left:
            return []
        if isinstance(fact, DatagramReceived):
            return self._received(fact)
        if isinstance(fact, DeadlineReached):
            return self._deadline(now)
        if isinstance(fact, Publish):
            return self._publish(fact, now)
        if isinstance(fact, ResizeBuffer):
            self._resize(fact.events)
        elif isinstance(fact, Meet):
            self.view.meet(fact.addresses)
        elif isinstance(fact, Leave):
            return self._leave()
        return []

    def next_deadline(self) -> Instant | None:
        """The next round, or the next token if a publication waits for it."""
        if self.left:
            return None
        limited = self.waiting and self.parameters.law != "none"
        return earliest(self._next_round, self.bucket.ready_at() if limited else None)

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if a bound does not hold."""
        if len(self.buffer) > self.buffer.capacity:
            raise InvariantBroken(f"{self.address} holds more events than its buffer has room for")
        if len(self.waiting) > self.parameters.waiting_publications:
            raise InvariantBroken(f"{self.address} lets too many publications wait")
        self.buffer.check_invariants()
        self.view.check_invariants()
        self.adaptation.minimum_buffer.check_invariants()

    # -- receiving --------------------------------------------------------------------------

    def _received(self, fact: DatagramReceived) -> list[Effect]:
        message = fact.message
        if not isinstance(message, Gossip) or message.group != self.parameters.group:
            return []
        if len(message.ages) != len(message.events) or message.sender == self.address:
            return []
        if not self.gate.admits_datagram(fact.source):
            return []
        if message.header is not None:
            self.view.merge(message.header.members, message.header.departed)
            self.adaptation.heard(message.header)
        new = self._take_in(message)
        self.adaptation.arrived(len(message.events), new)
        if not new:
            return []
        self._purge()
        self.delivered += len(new)
        return [DeliverEvents(tuple(new))]

    def _take_in(self, message: Gossip) -> list[Event]:
        """The events that are new; every copy may raise an age.

        What fits none of this peer's own datagrams could not be passed on, and is refused.
        """
        buffer, ranks, known = self.buffer, self.buffer.ranks, self.known.ids
        now, age_limit = buffer.round, self.parameters.age_limit
        raise_limit = self.parameters.age_raise_limit
        gate, counts_origins, room = self.gate, self.gate.counts_origins, self._event_room_bytes
        new: list[Event] = []
        for event, age in zip(message.events, message.ages, strict=True):
            identifier = event.id
            rank = ranks.get(identifier)
            if rank is not None:
                held_age = now - (rank >> SERIAL_BITS)
                if held_age < age:
                    buffer.raise_age(identifier, min(age, age_limit, held_age + raise_limit))
            elif identifier not in known:
                if counts_origins and not gate.admits_event(identifier):
                    continue
                if event_bytes(event) > room:
                    gate.refuse_event()
                    continue
                buffer.insert(event, min(age, age_limit))
                new.append(event)
        self.known.add([event.id for event in new])
        gate.admitted(len(new))
        return new

    def _purge(self) -> None:
        would_drop, dropped = self.buffer.purge(self.adaptation.minimum_buffer.estimate)
        if would_drop:
            self.adaptation.would_drop(would_drop)
        self.dropped += len(dropped)
        self.dropped_age_sum += sum(dropped)

    def _resize(self, events: int) -> None:
        self.buffer.capacity = max(1, events)
        self.adaptation.minimum_buffer.resize(self.buffer.capacity)
        self._purge()

    # -- rounds -----------------------------------------------------------------------------

    def _deadline(self, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        if now >= self._next_round:
            # A driver that was late does not make up for the rounds that it missed.
            period = self.parameters.gossip_period_ns
            self._next_round += period * (1 + (now - self._next_round) // period)
            effects.extend(self._round(now))
        effects.extend(self._release(now))
        return effects

    def _round(self, now: Instant) -> Iterator[Effect]:
        self.gate.next_round()
        self.view.next_round()
        self.buffer.grow_older(self.parameters.age_limit)
        published = self.published - self._published_before
        self._published_before = self.published
        period_s = in_seconds(self.parameters.gossip_period_ns)
        tokens, rate_used = self.bucket.tokens(now), published / period_s
        rate = self.adaptation.next_round(tokens, rate_used, len(self.view))
        self.bucket.set_rate(rate, now)
        every = self.parameters.trace_every_rounds
        if every and self.buffer.round % every == 0:
            yield from map(Trace, peer_records(self, now))
        parts = self._gossip()
        for target in self.view.targets(self.parameters.fanout):
            for part in parts:
                yield SendDatagram(target, part)

    def _gossip(self) -> list[Gossip]:
        adaptation = self.adaptation
        header = Header(
            members=self.view.sample(),
            departed=self.view.departed,
            period=adaptation.minimum_buffer.period,
            poorest=adaptation.minimum_buffer.claims,
            size_period=adaptation.group_size.period,
            size_sketch=adaptation.group_size.sketch,
            mean_rate_msgs_per_s=adaptation.mean_rate.value,
            mean_rate_weight=adaptation.mean_rate.weight,
            receipt=adaptation.receipt.value,
            receipt_weight=adaptation.receipt.weight,
        )
        first = Gossip(self.parameters.group, self.address, header, (), b"")
        events = tuple(self.buffer.events.values())
        return packed(first, events, self.buffer.ages(), self.parameters.datagram_bytes)

    # -- publishing -------------------------------------------------------------------------

    def _publish(self, publication: Publish, now: Instant) -> list[Effect]:
        problem = self._problem(publication)
        if problem is not None:
            return [PublicationRefused(publication.token, problem)]
        self.waiting.append(publication)
        return self._release(now)

    def _problem(self, publication: Publish) -> str | None:
        """Why a publication cannot be taken, if it cannot."""
        try:
            size = event_bytes(
                Event(bytes(EVENT_ID_BYTES), publication.payload, publication.attributes)
            )
        except ValueError as error:
            return str(error)
        if size > self._event_room_bytes:
            return (
                f"the event takes {size} bytes and a datagram has room for "
                f"{self._event_room_bytes}: publish less at a time, or raise datagram_bytes at "
                f"every peer"
            )
        if len(self.waiting) >= self.parameters.waiting_publications:
            return (
                f"{len(self.waiting)} publications wait already; the group allows this peer "
                f"{self.bucket.rate_msgs_per_s:.3g} a second"
            )
        return None

    def _release(self, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        free = self.parameters.law == "none"
        while self.waiting and (free or self.bucket.take_if_ready(now)):
            publication = self.waiting.popleft()
            identifier = self._next_id()
            self.known.add((identifier,))
            self.buffer.insert(Event(identifier, publication.payload, publication.attributes), 0)
            effects.append(Published(publication.token, identifier))
        if effects:
            self.adaptation.published(len(effects))
            self._purge()
        return effects

    def _next_id(self) -> EventId:
        self.published += 1
        return event_id(self.origin, self.published)

    # -- leaving ----------------------------------------------------------------------------

    def _leave(self) -> list[Effect]:
        self.left = True
        refused: list[Effect] = [
            PublicationRefused(each.token, "the peer has left the group") for each in self.waiting
        ]
        self.waiting.clear()
        parts = self._gossip()
        header = parts[0].header
        if header is not None:
            farewell = msgspec.structs.replace(
                header, members=header.members[1:], departed=(*header.departed, self.address)
            )
            parts[0] = Gossip(
                self.parameters.group, self.address, farewell, parts[0].events, parts[0].ages
            )
        targets = self.view.targets(self.parameters.fanout)
        return refused + [SendDatagram(each, part) for each in targets for part in parts]
