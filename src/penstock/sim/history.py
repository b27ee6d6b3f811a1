"""What happened to every message, as the applications at the ends saw it.

A history knows nothing of brokers, ticks in doubt or requests.  It records what each publisher
handed over and was told about it, and what each subscriber was given, in order.  Both worlds write
the same history; penstock.sim.judgement decides whether it is a good one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from enum import IntEnum

from penstock.content.rows.columns import AttributeValue, Buffer
from penstock.content.rows.frame import Frame
from penstock.core.clock import Instant
from penstock.core.intervals import IntervalSet, Tick
from penstock.sim.message_source import MessageSource, fingerprint, identity_of

NOBODY = 0
"""The producer of a message that carries no identity; no name hashes to it in practice."""


class Outcome(IntEnum):
    """What a publisher was told about a message."""

    PENDING = 0
    ACKNOWLEDGED = 1
    REFUSED = 2
    UNCERTAIN = 3


class PublisherHistory:
    """What one publisher did, message by message."""

    def __init__(self, name: str, source: MessageSource) -> None:
        """Nothing was published yet."""
        self.name = name
        self.source = source
        self.pubends = {source.spec.pubend}
        """Where its messages stand; learned from the receipts if the broker was to choose."""
        self.submitted_at = array("q")
        self.settled_at = array("q")
        self.outcomes = bytearray()
        self.ticks = array("q")
        self.reasons: dict[str, int] = {}

    def submitted(self, count: int, now: Instant) -> int:
        """So many more messages are handed over; returns the number of the first."""
        first = len(self.outcomes)
        self.submitted_at.extend([now] * count)
        self.settled_at.extend([0] * count)
        self.ticks.extend([0] * count)
        self.outcomes.extend(bytes(count))
        return first

    def acknowledged(self, first: int, count: int, first_tick: Tick | None, now: Instant) -> None:
        """These messages are durable, at consecutive ticks from ``first_tick`` if it is known."""
        for place in range(count):
            self.outcomes[first + place] = Outcome.ACKNOWLEDGED
            self.settled_at[first + place] = now
            if first_tick is not None:
                self.ticks[first + place] = first_tick + place

    def failed(self, first: int, count: int, outcome: Outcome, reason: str, now: Instant) -> None:
        """These messages were refused, or nobody knows what became of them."""
        for number in range(first, first + count):
            self.outcomes[number] = outcome
            self.settled_at[number] = now
        self.reasons[reason] = self.reasons.get(reason, 0) + count

    def count(self, outcome: Outcome) -> int:
        """How many messages had this outcome."""
        return self.outcomes.count(outcome)

    def __len__(self) -> int:
        """How many messages were handed over."""
        return len(self.outcomes)


class SubscriberHistory:
    """What one subscriber was given, in order."""

    def __init__(
        self,
        name: str,
        broker: str,
        selector: str,
        *,
        from_earliest: bool,
        identified: bool,
        durable: bool = False,
    ) -> None:
        """``identified`` says whether payloads carry the identity of their message."""
        self.durable = durable
        self.name = name
        self.broker = broker
        self.selector = selector
        self.from_earliest = from_earliest
        self.in_force_at: Instant | None = None
        self.in_force_on: frozenset[str] = frozenset()
        self.left_at: Instant | None = None
        self.announced_losses: list[tuple[str, Tick, Tick]] = []
        self.pubends: list[str] = []
        self.received_at = array("q")
        self.pubend_places = array("H")
        self.ticks = array("q")
        self.producers = array("Q")
        self.numbers = array("q")
        self.fingerprints = array("Q")
        self._identified = identified
        self._places: dict[str, int] = {}

    def in_force(self, now: Instant, pubends: Iterable[str] = ()) -> None:
        """The subscription is promised to be complete from now on; the first time counts.

        ``pubends`` are those on which it has a position.
        """
        if self.in_force_at is None:
            self.in_force_at = now
            self.in_force_on = frozenset(pubends)

    def restart(self) -> None:
        """The subscription was never in force, and is made anew: nothing was promised so far."""
        for column in (self.received_at, self.pubend_places, self.ticks, self.producers):
            del column[:]
        for column in (self.numbers, self.fingerprints):
            del column[:]
        self.announced_losses.clear()

    def received(self, pubend: str, frame: Frame, now: Instant) -> None:
        """A piece of a stream was given to the application."""
        if frame.final:
            self.announced_losses.append((pubend, frame.low, frame.high))
            return
        count = len(frame)
        if not count:
            return
        place = self._place(pubend)
        self.received_at.extend([now] * count)
        self.pubend_places.extend([place] * count)
        self.ticks.extend(map(int, frame.ticks))
        if not self._identified:
            return
        rows = zip(frame.batch.attribute_rows(), frame.batch.payload_rows(), strict=True)
        for attributes, payload in rows:
            self._identify(attributes, payload)

    def message(
        self,
        pubend: str,
        tick: Tick,
        attributes: Mapping[str, AttributeValue],
        payload: Buffer,
        now: Instant,
    ) -> None:
        """One message was given to the application."""
        self.received_at.append(now)
        self.pubend_places.append(self._place(pubend))
        self.ticks.append(tick)
        if self._identified:
            self._identify(attributes, payload)

    def _place(self, pubend: str) -> int:
        place = self._places.get(pubend)
        if place is None:
            place = self._places[pubend] = len(self.pubends)
            self.pubends.append(pubend)
        return place

    def _identify(self, attributes: Mapping[str, AttributeValue], payload: Buffer) -> None:
        producer, number = identity_of(payload) or (NOBODY, -1)
        self.producers.append(producer)
        self.numbers.append(number)
        self.fingerprints.append(fingerprint(attributes, payload))

    @property
    def identified(self) -> bool:
        """Whether payloads carry the identity of their message."""
        return self._identified

    def __len__(self) -> int:
        """How many messages were received."""
        return len(self.ticks)


class History:
    """Everything that the applications of one run saw."""

    def __init__(self) -> None:
        """Nobody is there yet."""
        self.publishers: dict[str, PublisherHistory] = {}
        self.subscribers: dict[str, SubscriberHistory] = {}
        self.damaged: dict[str, IntervalSet] = {}
        """What became unreadable on a disk, for each pubend."""

    def damage(self, pubend: str, low: Tick, high: Tick) -> None:
        """What was stored there can be read by nobody any more."""
        self.damaged.setdefault(pubend, IntervalSet()).add(low, high)

    def add_publisher(self, publisher: PublisherHistory) -> PublisherHistory:
        """Record what a publisher does."""
        self.publishers[publisher.name] = publisher
        return publisher

    def add_subscriber(self, subscriber: SubscriberHistory) -> SubscriberHistory:
        """Record what a subscriber is given."""
        self.subscribers[subscriber.name] = subscriber
        return subscriber

    def count(self, outcome: Outcome) -> int:
        """How many messages of all publishers had this outcome."""
        return sum(publisher.count(outcome) for publisher in self.publishers.values())

    @property
    def delivered(self) -> int:
        """How many messages all subscribers received together."""
        return sum(len(subscriber) for subscriber in self.subscribers.values())
