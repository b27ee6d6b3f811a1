"""What all applications of the datagram service saw in a run.

A message is *wanted* by a subscriber if it was sent, matches the selector, and was sent while the
subscription was in force.  It is *lost* if it was wanted and did not arrive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from penstock.core.clock import SECOND
from penstock.lab.oracle.datagram.judge import judge
from penstock.lab.oracle.datagram.participants import (
    Numbers,
    Outcome,
    PublisherHistory,
    SubscriberHistory,
)
from penstock.lab.oracle.datagram.selection import Selections
from penstock.lab.oracle.history import Events, counted
from penstock.lab.oracle.judgement import Judgement


class DatagramHistory:
    """What all applications of the datagram service saw."""

    def __init__(self, *, single_path: bool) -> None:
        """``single_path`` says that there is only one way between any two brokers."""
        self.single_path = single_path
        self.publishers: dict[str, PublisherHistory] = {}
        self.subscribers: dict[str, SubscriberHistory] = {}
        self._selections: Selections | None = None
        self._selected_at: tuple[int, ...] = ()

    def add_publisher(self, publisher: PublisherHistory) -> PublisherHistory:
        self.publishers[publisher.name] = publisher
        return publisher

    def add_subscriber(self, subscriber: SubscriberHistory) -> SubscriberHistory:
        self.subscribers[subscriber.name] = subscriber
        return subscriber

    @property
    def delivered(self) -> int:
        """Messages that all subscribers received."""
        return sum(len(each) for each in self.subscribers.values())

    @property
    def pending(self) -> int:
        """Messages that wait for the tokens of their flows."""
        return sum(each.waiting for each in self.publishers.values())

    def complete(self) -> bool:
        """Always: what is best effort need not arrive."""
        return True

    def judge(self) -> Judgement:
        """Apply the rules of the service."""
        return judge(
            self.publishers.values(),
            self.subscribers.values(),
            self.selections(),
            single_path=self.single_path,
        )

    def selections(self) -> Selections:
        """Who wants what, of all messages so far."""
        length = self._length()
        if self._selections is None or self._selected_at != length:
            self._selections = Selections(self.publishers.values())
            self._selected_at = length
        return self._selections

    def _length(self) -> tuple[int, ...]:
        """Changes whenever something is added to the history."""
        publishers, subscribers = self.publishers.values(), self.subscribers.values()
        submitted = sum(len(each) for each in publishers)
        periods = sum(len(each.in_force_from) + len(each.in_force_to) for each in subscribers)
        return submitted, self.pending, self.delivered, periods

    def events(self, metric: str) -> Mapping[str, Events]:
        """The events of a metric, by client."""
        match metric:
            case "submitted":
                return {name: counted(each.submitted_at) for name, each in self.publishers.items()}
            case "sent" | "refused" | "given_up":
                outcome = Outcome[metric.upper()]
                return {
                    name: counted(each.times(outcome)) for name, each in self.publishers.items()
                }
            case "delivered":
                return {name: counted(each.received_at) for name, each in self.subscribers.items()}
            case "delay_s":
                return {name: _delays(each) for name, each in self.subscribers.items()}
            case "wanted" | "lost":
                return {
                    name: counted(self._wanted_at(each, lost=metric == "lost"))
                    for name, each in self.subscribers.items()
                }
        raise KeyError(f"the datagram service has no metric {metric!r}")

    def _wanted_at(self, subscriber: SubscriberHistory, *, lost: bool) -> Numbers:
        """When the messages that a subscriber wanted were sent, or only those that it missed."""
        selections = self.selections()
        times = []
        for publisher in self.publishers.values():
            choose = selections.lost if lost else selections.wanted
            numbers = choose(publisher, subscriber)
            times.append(np.array(publisher.sent_at, np.int64)[numbers])
        return np.sort(np.concatenate(times)) if times else np.zeros(0, np.int64)

    def totals(self) -> Iterator[tuple[str, str, int]]:
        """The counts of every client."""
        for name, publisher in self.publishers.items():
            yield name, "submitted", len(publisher)
            for outcome in (Outcome.SENT, Outcome.REFUSED, Outcome.GIVEN_UP):
                yield name, outcome.name.lower(), publisher.count(outcome)
        for metric in ("wanted", "lost"):
            for name, events in self.events(metric).items():
                yield name, metric, len(events.at)
        for name, subscriber in self.subscribers.items():
            yield name, "delivered", len(subscriber)


def _delays(subscriber: SubscriberHistory) -> Events:
    received = np.array(subscriber.received_at, np.int64)
    return Events(received, (received - np.array(subscriber.sent_at, np.int64)) / SECOND)
