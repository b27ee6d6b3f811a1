"""One member of one gossip group: lpbcast (Figure 1) with adaptation (Figure 5).

1. Every T the peer makes its events one round older, drops those beyond the age limit, and sends
   what it holds, with a header, to ``fanout`` members of its partial view.  Peers are not
   synchronised: each starts its first round at a random time within T.
2. An event that arrives is delivered once and held; an older copy raises its age.  The peer counts
   the events that the smallest buffer would lose, then drops those that do not fit its own.
3. A publication waits until there is a token, if the law limits the rate.  The number of waiting
   publications is bounded; ``admission`` says which publications are refused.
4. A peer that leaves sends a farewell to the next targets; afterwards it ignores every fact.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from penstock.core.clock import Instant, earliest, in_seconds
from penstock.core.datagrams import Address, DatagramReceived, SendDatagram
from penstock.core.machine import DeadlineReached, Effect, Fact, InvariantBroken, Trace
from penstock.core.randomness import random_stream
from penstock.mechanisms.token_bucket import TokenBucket
from penstock.services.gossip.admission import FloodGate, publication_objection
from penstock.services.gossip.events.event_buffer import SERIAL_BITS, EventBuffer
from penstock.services.gossip.events.known_events import KnownEvents
from penstock.services.gossip.facts import (
    DeliverEvents,
    Leave,
    Meet,
    PublicationRefused,
    Published,
    PublishEvent,
    ResizeBuffer,
)
from penstock.services.gossip.laws.adaptation import Adaptation
from penstock.services.gossip.laws.choice import chosen_law
from penstock.services.gossip.membership.view import PartialView
from penstock.services.gossip.messages import Event, EventId, Gossip, Header, event_id
from penstock.services.gossip.packing import FRAME_BYTES, event_bytes, packed
from penstock.services.gossip.parameters import GossipParameters
from penstock.services.gossip.telemetry import peer_records

INITIAL_TOKENS_SHARE: Final = 0.5
"""The bucket begins half full, as its average does."""

OnFact = Callable[[Any, Instant], list[Effect]]


class Peer:
    """One member of one group."""

    def __init__(
        self, address: Address, parameters: GossipParameters, seed: int | str, *, now: Instant
    ) -> None:
        """``address`` is where others send to; the seed decides every draw of this peer."""
        self.address = address
        self.parameters = parameters
        self._law = chosen_law(parameters, random_stream(seed, address, "increase"))
        self.origin = random_stream(seed, address, "origin").getrandbits(63)
        self.buffer = EventBuffer(parameters.buffer_events)
        self.known = KnownEvents(parameters.known_events)
        self.view = PartialView(
            address,
            parameters,
            random_stream(seed, address, "view"),
            balanced=self._law.balances_targets,
        )
        self.adaptation = Adaptation(
            parameters, self._law, self.origin, random_stream(seed, address, "size")
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
        self.waiting: deque[PublishEvent] = deque()
        self.published = 0
        self._published_before = 0
        self.delivered = 0
        self.dropped = 0
        self.dropped_age_sum = 0
        self.left = False
        phase = random_stream(seed, address, "phase").randrange(parameters.gossip_period_ns)
        self._next_round: Instant = now + phase
        self._on: dict[type[Fact], OnFact] = {
            DatagramReceived: self._received,
            DeadlineReached: self._deadline,
            PublishEvent: self._publish,
            ResizeBuffer: self._resize,
            Meet: self._meet,
            Leave: self._leave,
        }

    # -- the machine contract ---------------------------------------------------------------

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Take in one fact and return the effects that follow from it."""
        on_fact = self._on.get(type(fact))
        return [] if on_fact is None or self.left else on_fact(fact, now)

    def next_deadline(self) -> Instant | None:
        """The next round, or the next token if a publication waits for it."""
        if self.left:
            return None
        limited = self.waiting and self.limits_rate
        return earliest(self._next_round, self.bucket.ready_at() if limited else None)

    @property
    def limits_rate(self) -> bool:
        """Whether publications wait for tokens."""
        return self._law.limits_rate

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if a bound does not hold."""
        if len(self.buffer) > self.buffer.capacity:
            raise InvariantBroken(f"{self.address} holds more events than its buffer has room for")
        if len(self.waiting) > self.parameters.waiting_publications:
            raise InvariantBroken(f"{self.address} lets too many publications wait")
        self.buffer.check_invariants()
        self.view.check_invariants()
        self.adaptation.check_invariants()

    # -- receiving --------------------------------------------------------------------------

    def _received(self, fact: DatagramReceived, now: Instant) -> list[Effect]:
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
        """Hold the events that are new and return them; a copy may raise the age of a held one.

        An event that is too large for this peer's own datagrams is refused: it could not be
        passed on.
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
        would_drop, dropped = self.buffer.purge(self.adaptation.minimum_buffer_events)
        if would_drop:
            self.adaptation.would_drop(would_drop)
        self.dropped += len(dropped)
        self.dropped_age_sum += sum(dropped)

    def _resize(self, fact: ResizeBuffer, now: Instant) -> list[Effect]:
        self.buffer.capacity = max(1, fact.events)
        self.adaptation.resize(self.buffer.capacity)
        self._purge()
        return []

    def _meet(self, fact: Meet, now: Instant) -> list[Effect]:
        self.view.meet(fact.addresses)
        return []

    # -- rounds -----------------------------------------------------------------------------

    def _deadline(self, fact: DeadlineReached, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        if now >= self._next_round:
            # A driver that is late skips the rounds that it missed.
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
        minimum_buffer, group_size = self.adaptation.minimum_buffer, self.adaptation.group_size
        steering = self.adaptation.steering
        header = Header(
            members=self.view.sample(),
            departed=self.view.departed,
            period=minimum_buffer.period,
            poorest=minimum_buffer.claims,
            size_period=group_size.period,
            size_sketch=group_size.sketch,
            mean_rate_msgs_per_s=steering.mean_rate_msgs_per_s,
            mean_rate_weight=steering.mean_rate_weight,
            receipt=steering.receipt,
            receipt_weight=steering.receipt_weight,
        )
        first = Gossip(self.parameters.group, self.address, header, (), b"")
        events, ages = self.buffer.held()
        return packed(first, events, ages, self.parameters.datagram_bytes)

    # -- publishing -------------------------------------------------------------------------

    def _publish(self, publication: PublishEvent, now: Instant) -> list[Effect]:
        problem = publication_objection(
            publication,
            room_bytes=self._event_room_bytes,
            waiting=len(self.waiting),
            most_waiting=self.parameters.waiting_publications,
            rate_msgs_per_s=self.bucket.rate_msgs_per_s,
        )
        if problem:
            return [PublicationRefused(publication.token, problem)]
        self.waiting.append(publication)
        return self._release(now)

    def _release(self, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        free = not self.limits_rate
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

    def _leave(self, fact: Leave, now: Instant) -> list[Effect]:
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
