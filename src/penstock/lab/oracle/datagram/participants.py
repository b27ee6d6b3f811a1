"""What one publisher, and one subscriber, of the datagram service saw in a run.

A message is recognised by the identity at the start of its payload: its publisher and its number.
Its attributes and its payload are a function of both, so only numbers and times are kept.  Times of
sending are the publisher's, times of arrival the subscriber's; both clocks are this machine's.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from enum import IntEnum
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.content.rows.columns import AttributeValue, Buffer
from penstock.core.clock import NEVER, Instant
from penstock.lab.workloads.message_source import fingerprint, identity_of

Numbers: TypeAlias = npt.NDArray[np.int64]

NOBODY = 0
"""The producer of a message without an identity; in practice no name hashes to it."""


class Outcome(IntEnum):
    """What became of a submitted message, as far as its publisher knows."""

    WAITING = 0
    SENT = 1
    REFUSED = 2
    """Too many messages waited in its flow."""
    GIVEN_UP = 3
    """It waited when the connection broke.  In the network world the publisher learns late which
    messages have left, so such a message may have been sent."""


class Source(Protocol):
    """The messages of a publisher, as a function of their numbers."""

    @property
    def producer_hash(self) -> int:
        """The publisher in the identity of a message."""
        ...

    def attributes(self, number: int) -> Mapping[str, AttributeValue]: ...

    def payload(self, number: int) -> bytes: ...


class PublisherHistory:
    """The messages of one publisher, by number."""

    def __init__(self, name: str, source: Source) -> None:
        self.name = name
        self.source = source
        self.submitted_at = array("q")
        self.sent_at = array("q")
        """0 for a message that was not sent."""
        self.outcomes = bytearray()
        self.waiting = 0

    def submitted(self, now: Instant) -> int:
        """Record the next message; returns its number."""
        self.submitted_at.append(now)
        self.sent_at.append(0)
        self.outcomes.append(Outcome.WAITING)
        self.waiting += 1
        return len(self.outcomes) - 1

    def sent(self, number: int, now: Instant) -> None:
        """Record that a message left."""
        self._settle(number, Outcome.SENT)
        self.sent_at[number] = now

    def refused(self, number: int) -> None:
        """Record that a message was not taken."""
        self._settle(number, Outcome.REFUSED)

    def given_up(self, number: int) -> None:
        """Record that a message waited when the connection broke."""
        self._settle(number, Outcome.GIVEN_UP)

    def _settle(self, number: int, outcome: Outcome) -> None:
        assert self.outcomes[number] == Outcome.WAITING, "a message has one outcome"
        self.outcomes[number] = outcome
        self.waiting -= 1

    def count(self, outcome: Outcome) -> int:
        return self.outcomes.count(outcome)

    def times(self, outcome: Outcome) -> Numbers:
        """When messages with this outcome were submitted, or sent if they were."""
        times = self.sent_at if outcome is Outcome.SENT else self.submitted_at
        chosen: Numbers = np.array(times, np.int64)[np.array(self.outcomes) == outcome]
        return chosen

    def __len__(self) -> int:
        return len(self.outcomes)


class SubscriberHistory:
    """The messages that one subscriber received, in order."""

    def __init__(self, name: str, selector: str) -> None:
        self.name = name
        self.selector = selector
        self.in_force_from = array("q")
        self.in_force_to = array("q")
        self.received_at = array("q")
        self.sent_at = array("q")
        """By the publisher's clock, as the messages say."""
        self.producers = array("Q")
        self.numbers = array("q")
        self.fingerprints = array("Q")

    def in_force(self, now: Instant) -> None:
        """The broker has confirmed the subscription; a second confirmation changes nothing."""
        if len(self.in_force_from) == len(self.in_force_to):
            self.in_force_from.append(now)

    def away(self, now: Instant) -> None:
        """The subscription is not in force any more."""
        if len(self.in_force_from) > len(self.in_force_to):
            self.in_force_to.append(now)

    def received(
        self,
        attributes: Mapping[str, AttributeValue],
        payload: Buffer,
        sent_at: Instant,
        now: Instant,
    ) -> None:
        """Record a message that was delivered to the application."""
        producer, number = identity_of(payload) or (NOBODY, -1)
        self.received_at.append(now)
        self.sent_at.append(sent_at)
        self.producers.append(producer)
        # What a payload without an identity has in its place may exceed the largest number.
        self.numbers.append(min(number, NEVER))
        self.fingerprints.append(fingerprint(attributes, payload))

    def periods(self) -> list[tuple[Instant, Instant]]:
        """When the subscription was in force."""
        ends = [*self.in_force_to, NEVER]
        return [(start, ends[place]) for place, start in enumerate(self.in_force_from)]

    def __len__(self) -> int:
        return len(self.received_at)
