"""When a client sends: evenly or at random, at a rate that may change over time."""

from __future__ import annotations

from random import Random
from typing import Final, Literal, TypeAlias

import msgspec

from penstock.core.clock import NEVER, SECOND, Duration, Instant, in_seconds
from penstock.lab.scenario.curve import Curve, is_zero, value_at

Pattern: TypeAlias = Literal["even", "poisson"]

CURVE_STEP: Final[Duration] = SECOND // 10
"""A rate that changes counts as constant for this long."""


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
    2. A slot that comes while the publisher is blocked is skipped: a throttled publisher does not
       catch up afterwards.
    """

    def __init__(self, pace: Pace, random: Random) -> None:
        """``random`` is this publisher's own stream."""
        self._pace = pace
        self._random = random
        self._has_rate = pace.has_rate
        self._fixed = not isinstance(pace.rate_msgs_per_s, tuple)
        if self._fixed:
            self._gap: Duration = self._fixed_gap()
            phase = random.randrange(self._gap) if self._gap else 0
            self.next_at: Instant = pace.start_at + phase
        else:
            self.next_at = self._after(pace.start_at, random.random())

    def _fixed_gap(self) -> Duration:
        rate = self._pace.rate_msgs_per_s
        if not self._has_rate or isinstance(rate, tuple):
            return 0
        return round(self._pace.batch_rows * SECOND / rate)

    def _after(self, at: Instant, gaps: float) -> Instant:
        """When so many mean gaps have passed at the rates of the curve; the end at the latest."""
        pace = self._pace
        rows = gaps * pace.batch_rows
        while at < pace.stop_at and self._has_rate:
            rate = value_at(pace.rate_msgs_per_s, in_seconds(at - pace.began_at))
            if rows * SECOND <= rate * CURVE_STEP:
                return at + max(1, round(rows * SECOND / rate))
            rows -= rate * CURVE_STEP / SECOND
            at += CURVE_STEP
        return at

    def advance(self) -> None:
        """Move to the next slot; the current one was used or skipped."""
        random_gaps = self._pace.pattern == "poisson"
        if not self._fixed:
            gaps = self._random.expovariate(1) if random_gaps else 1.0
            self.next_at = self._after(self.next_at, gaps)
        elif self._gap and random_gaps:
            self.next_at += max(1, round(self._random.expovariate(1) * self._gap))
        else:
            self.next_at += self._gap
