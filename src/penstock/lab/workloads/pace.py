"""When a client sends: evenly or at random, at a rate that may change over time."""

from __future__ import annotations

from math import isinf
from random import Random
from typing import Literal, TypeAlias

import msgspec

from penstock.core.clock import NEVER, SECOND, Duration, Instant, in_seconds, seconds
from penstock.lab.scenario.curve import Curve, is_zero, second_of_area

Pattern: TypeAlias = Literal["even", "poisson"]


class Pace(msgspec.Struct, frozen=True):
    """When a client sends.

    A rate of 0 means as fast as ``max_in_flight`` (messages without a receipt; 0 means unlimited)
    and the client's own window allow.
    """

    start_at: Instant
    stop_at: Instant = NEVER
    rate_msgs_per_s: Curve = 0.0
    pattern: Pattern = "even"
    batch_rows: int = 1
    messages: int = 0
    """Total number of messages; 0 means unlimited."""
    max_in_flight: int = 0
    began_at: Instant = 0
    """The first instant of the scenario, from which the seconds of a curve count."""

    @property
    def has_rate(self) -> bool:
        """Whether it has a rate, and is not only limited by what is in flight."""
        return not is_zero(self.rate_msgs_per_s)


class PacedSlots:
    """The instants at which the next batches are due.

    1. Even slots have a random phase, so that several publishers are not synchronised.
    2. A rate that changes has a slot whenever the area under its curve has grown by a batch, so
       while the rate is 0 there are none.
    3. A slot that comes while the publisher is blocked is skipped: a throttled publisher does not
       catch up afterwards.
    """

    def __init__(self, pace: Pace, random: Random) -> None:
        """``random`` is this publisher's own stream."""
        self._pace = pace
        self._random = random
        self.next_at: Instant = pace.start_at
        self._at_s = in_seconds(pace.start_at - pace.began_at)
        self._gap: Duration = 0
        if isinstance(pace.rate_msgs_per_s, tuple):
            self._advance_on_curve(random.random())
        elif pace.rate_msgs_per_s:
            self._gap = max(1, round(pace.batch_rows * SECOND / pace.rate_msgs_per_s))
            self.next_at += random.randrange(self._gap)

    def advance(self) -> None:
        """Move to the next slot; the current one was used or skipped."""
        batches = self._random.expovariate(1) if self._pace.pattern == "poisson" else 1.0
        if isinstance(self._pace.rate_msgs_per_s, tuple):
            self._advance_on_curve(batches)
        elif self._gap:
            self.next_at += max(1, round(batches * self._gap))

    def _advance_on_curve(self, batches: float) -> None:
        pace = self._pace
        due = batches * pace.batch_rows
        self._at_s = second_of_area(pace.rate_msgs_per_s, self._at_s, due)
        later = NEVER if isinf(self._at_s) else pace.began_at + seconds(self._at_s)
        # A rate close to 0 has slots that lie beyond what a clock can show.
        self.next_at = min(NEVER, max(self.next_at, later))
