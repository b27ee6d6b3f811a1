"""What happened to every message, as the applications at the ends saw it.

A history knows nothing of brokers, ticks in doubt or requests.  It records what each publisher
submitted and which outcome it was given, and what each subscriber received, in order.  Both worlds
write the same history; the judge decides whether it breaks a rule.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Final

import numpy as np

from penstock.content.rows.columns import AttributeValue, Buffer
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND, Instant
from penstock.core.intervals import IntervalSet, Tick
from penstock.lab.oracle.history import Events, counted
from penstock.lab.oracle.judgement import Judgement
from penstock.lab.workloads.message_source import MessageSource, fingerprint, identity_of

NOBODY = 0
"""The producer of a message without an identity; in practice no name hashes to it."""


class Outcome(IntEnum):
    """The outcome of a message that its publisher was given."""

    PENDING = 0
    ACKNOWLEDGED = 1
    REFUSED = 2
    UNCERTAIN = 3


OUTCOMES: Final = {
    "acknowledged": Outcome.ACKNOWLEDGED,
    "refused": Outcome.REFUSED,
    "uncertain": Outcome.UNCERTAIN,
}
"""The outcomes that are measured, by the name of their metric."""


class PublisherHistory:
    """The messages of one publisher and their outcomes."""

    def __init__(self, name: str, source: MessageSource) -> None:
        self.name = name
        self.source = source
        self.pubends = {source.spec.pubend}
        """Its pubend; learned from the receipts if the broker was asked to choose."""
        self.submitted_at = array("q")
        self.settled_at = array("q")
        self.outcomes = bytearray()
        self.ticks = array("q")
        self.reasons: dict[str, int] = {}

    def submitted(self, count: int, now: Instant) -> int:
        """Record ``count`` submitted messages; returns the number of the first."""
        first = len(self.outcomes)
        self.submitted_at.extend([now] * count)
        self.settled_at.extend([0] * count)
        self.ticks.extend([0] * count)
        self.outcomes.extend(bytes(count))
        return first

    def acknowledged(self, first: int, count: int, first_tick: Tick | None, now: Instant) -> None:
        """Record durable messages, at consecutive ticks from ``first_tick`` if it is known."""
        for place in range(count):
            self.outcomes[first + place] = Outcome.ACKNOWLEDGED
            self.settled_at[first + place] = now
            if first_tick is not None:
                self.ticks[first + place] = first_tick + place

    def failed(self, first: int, count: int, outcome: Outcome, reason: str, now: Instant) -> None:
        """Record messages that were refused or whose outcome is unknown."""
        for number in range(first, first + count):
            self.outcomes[number] = outcome
            self.settled_at[number] = now
        self.reasons[reason] = self.reasons.get(reason, 0) + count

    def count(self, outcome: Outcome) -> int:
        return self.outcomes.count(outcome)

    def events(self, metric: str) -> Events:
        """When messages were submitted, or got an outcome."""
        if metric == "submitted":
            return counted(self.submitted_at)
        outcomes = np.frombuffer(bytes(self.outcomes), np.uint8)
        if metric == "unsettled":
            return counted(np.array(self.submitted_at, np.int64)[outcomes == Outcome.PENDING])
        return counted(np.array(self.settled_at, np.int64)[outcomes == OUTCOMES[metric]])

    def __len__(self) -> int:
        return len(self.outcomes)


class SubscriberHistory:
    """The messages that one subscriber received, in order."""

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
        """The subscription is guaranteed to be complete from now on; only the first call counts.

        ``pubends`` are the pubends on which it has a position.
        """
        if self.in_force_at is None:
            self.in_force_at = now
            self.in_force_on = frozenset(pubends)

    def restart(self) -> None:
        """The subscription was never in force and is created again: discard the promises so far."""
        for column in (self.received_at, self.pubend_places, self.ticks, self.producers):
            del column[:]
        for column in (self.numbers, self.fingerprints):
            del column[:]
        self.announced_losses.clear()

    def received(self, pubend: str, frame: Frame, now: Instant) -> None:
        """Record a frame of a stream that was delivered to the application."""
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
        """Record one message that was delivered to the application."""
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

    def delays(self) -> Events:
        """Seconds from each message's tick to its delivery."""
        at = np.array(self.received_at, np.int64)
        return Events(at, (at - np.array(self.ticks, np.int64)) / SECOND)

    @property
    def identified(self) -> bool:
        """Whether payloads carry the identity of their message."""
        return self._identified

    def __len__(self) -> int:
        return len(self.ticks)


class GuaranteedHistory:
    """What all applications of one run saw."""

    def __init__(self) -> None:
        self.publishers: dict[str, PublisherHistory] = {}
        self.subscribers: dict[str, SubscriberHistory] = {}
        self.damaged: dict[str, IntervalSet] = {}
        """Intervals that became unreadable on a disk, for each pubend."""
        self._judged: tuple[object, Judgement] | None = None

    def damage(self, pubend: str, low: Tick, high: Tick) -> None:
        """Record an interval that can no longer be read."""
        self.damaged.setdefault(pubend, IntervalSet()).add(low, high)

    def add_publisher(self, publisher: PublisherHistory) -> PublisherHistory:
        self.publishers[publisher.name] = publisher
        return publisher

    def add_subscriber(self, subscriber: SubscriberHistory) -> SubscriberHistory:
        self.subscribers[subscriber.name] = subscriber
        return subscriber

    def count(self, outcome: Outcome) -> int:
        return sum(publisher.count(outcome) for publisher in self.publishers.values())

    @property
    def delivered(self) -> int:
        """Messages that all subscribers received together."""
        return sum(len(subscriber) for subscriber in self.subscribers.values())

    @property
    def pending(self) -> int:
        """Messages without an outcome."""
        return self.count(Outcome.PENDING)

    def complete(self) -> bool:
        """Whether every message that is due was received."""
        return not self.judge()["lost"]

    def judge(self) -> Judgement:
        """Apply the rules; the judgement of an unchanged history is made once."""
        # Imported here because the judge reads histories.
        from penstock.lab.oracle.guaranteed.judge import judge

        judged_on = self._judged_on()
        if self._judged is None or self._judged[0] != judged_on:
            self._judged = judged_on, judge(self)
        return self._judged[1]

    def _judged_on(self) -> object:
        """Changes with everything that a judgement depends on."""
        return (
            [(len(each.pubends), bytes(each.outcomes)) for each in self.publishers.values()],
            [
                (len(each), each.in_force_at, each.left_at, len(each.announced_losses))
                for each in self.subscribers.values()
            ],
            {pubend: list(each) for pubend, each in self.damaged.items()},
        )

    def events(self, metric: str) -> dict[str, Events]:
        """The events of a metric, by client."""
        if metric == "delivered":
            return {name: counted(each.received_at) for name, each in self.subscribers.items()}
        if metric == "delay_s":
            return {name: each.delays() for name, each in self.subscribers.items()}
        return {name: each.events(metric) for name, each in self.publishers.items()}

    def totals(self) -> Iterator[tuple[str, str, int]]:
        """Client, metric and number, for the record of a run."""
        for publisher in self.publishers.values():
            yield publisher.name, "submitted", len(publisher)
            for metric, outcome in OUTCOMES.items():
                yield publisher.name, metric, publisher.count(outcome)
        for subscriber in self.subscribers.values():
            yield subscriber.name, "received", len(subscriber)
