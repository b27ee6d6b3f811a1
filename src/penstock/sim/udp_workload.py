"""Publishers and subscribers of the datagram service in a simulated run.

A ``PacedDatagramPublisher`` decides when to publish and what; the client library's own
``DatagramPeer`` does all the communication with its broker.  If the peer refuses a message because
its flow's queue is full, the message is not published and the application continues without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

import msgspec

from penstock.core.clock import SECOND, Instant, in_seconds
from penstock.core.datagrams import SendBestEffort
from penstock.core.machine import DeadlineReached, Effect, Fact
from penstock.services.datagram.messages import Attribute, Publication
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.peer import DatagramPeer, DeliverPublication, NotOpen
from penstock.services.datagram.publisher.control import QueueFull


class RatePoint(msgspec.Struct, frozen=True, array_like=True):
    """One point of a plan; the rate is interpolated linearly up to the next point."""

    at_s: float
    msgs_per_s: float


class RatePlan:
    """A publication rate that changes over time."""

    def __init__(self, points: Sequence[RatePoint], began: Instant) -> None:
        """``points`` are ordered by time; before the first and after the last the rate stays."""
        self._points = tuple(points)
        self._began = began
        self._at = 0

    def rate_at(self, now: Instant) -> float:
        """Messages per second; time must not go backwards."""
        now_s = in_seconds(now - self._began)
        points = self._points
        while self._at + 1 < len(points) and points[self._at + 1].at_s <= now_s:
            self._at += 1
        here = points[self._at]
        if now_s <= here.at_s or self._at + 1 == len(points):
            return here.msgs_per_s
        there = points[self._at + 1]
        part = (now_s - here.at_s) / (there.at_s - here.at_s)
        return here.msgs_per_s + part * (there.msgs_per_s - here.msgs_per_s)


class PacedDatagramPublisher:
    """A machine that publishes at the rate of its plan."""

    def __init__(
        self,
        name: str,
        parameters: DatagramParameters,
        plan: RatePlan,
        attributes: Callable[[Random], dict[str, Attribute]],
        random: Random,
        on_sent: Callable[[Publication], None],
        *,
        start_at: Instant,
        stop_at: Instant,
    ) -> None:
        """``attributes`` generates the next message; ``random`` is this publisher's own stream."""
        self.peer = DatagramPeer(name, parameters, publishes=True)
        self.refused_messages = 0
        self._plan = plan
        self._attributes = attributes
        self._random = random
        self._on_sent = on_sent
        self._stop_at = stop_at
        self._tokens = 0
        self._peer_due: Instant | None = None
        """As of the last step: nothing changes between two steps."""
        self._slot_at = start_at + round(
            random.random() * SECOND / max(1.0, plan.rate_at(start_at))
        )

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Process one fact, and publish what is due."""
        out: list[Effect] = []
        due = self._peer_due
        if type(fact) is not DeadlineReached or (due is not None and due <= now):
            out = self.peer.handle(fact, now=now)
        while self._slot_at <= now < self._stop_at:
            out += self._publish(now)
            self._slot_at += round(SECOND / max(1.0, self._plan.rate_at(self._slot_at)))
        for effect in out:
            if type(effect) is SendBestEffort and type(effect.message) is Publication:
                self._on_sent(effect.message)
        return out

    def _publish(self, now: Instant) -> list[Effect]:
        self._tokens += 1
        attributes = self._attributes(self._random)
        try:
            return self.peer.publish(self._tokens, attributes, b"", now=now)
        except QueueFull:
            self.refused_messages += 1
        except NotOpen:
            pass
        return []

    def next_deadline(self) -> Instant | None:
        """The next slot, or the peer's deadline if it is earlier."""
        due = self._peer_due = self.peer.next_deadline()
        if self._slot_at >= self._stop_at:
            return due
        return self._slot_at if due is None or self._slot_at < due else due

    def check_invariants(self) -> None:
        self.peer.check_invariants()


class CountingDatagramSubscriber:
    """A machine that counts its deliveries."""

    def __init__(
        self,
        name: str,
        parameters: DatagramParameters,
        selectors: Sequence[str],
        *,
        bucket_ns: int,
        began: Instant,
    ) -> None:
        """Counts deliveries by the bucket of their arrival, and by that of their sending."""
        self.peer = DatagramPeer(name, parameters, publishes=False)
        self.delivered_messages = 0
        self.by_arrival: Counter[int] = Counter()
        self.by_sending: Counter[int] = Counter()
        self.delay_ns_total = 0
        self._bucket_ns = bucket_ns
        self._began = began
        for filter_id, selector in enumerate(selectors, 1):
            self.peer.subscribe(filter_id, selector)

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        effects = self.peer.handle(fact, now=now)
        for effect in effects:
            if type(effect) is DeliverPublication:
                self.delivered_messages += 1
                sent_at = effect.publication.sent_at
                self.by_arrival[(now - self._began) // self._bucket_ns] += 1
                self.by_sending[(sent_at - self._began) // self._bucket_ns] += 1
                self.delay_ns_total += now - sent_at
        return effects

    def next_deadline(self) -> Instant | None:
        return self.peer.next_deadline()

    def check_invariants(self) -> None:
        self.peer.check_invariants()
