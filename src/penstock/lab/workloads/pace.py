"""When a client sends: evenly or at random, at a rate that may change over time."""

from __future__ import annotations

from random import Random
from typing import Final, Literal, TypeAlias

import msgspec

from penstock.core.clock import NEVER, SECOND, Duration, Instant, in_seconds
from penstock.lab.scenario.curve import Curve, is_zero, value_at

Pattern: TypeAlias = Literal["even", "poisson"]

IDLE: Final[Duration] = SECOND // 10
"""How soon a client whose rate is 0 looks at its rate again."""


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
        self._gap: Duration = self._gap_at(pace.start_at)
        phase = random.randrange(self._gap) if self._gap else 0
        self.next_at: Instant = pace.start_at + phase

    def _gap_at(self, now: Instant) -> Duration:
        if not self._has_rate:
            return 0
        pace = self._pace
        rate = value_at(pace.rate_msgs_per_s, in_seconds(now - pace.began_at))
        return round(pace.batch_rows * SECOND / rate) if rate else IDLE

    def advance(self) -> None:
        """Move to the next slot; the current one was used or skipped."""
        if not self._fixed:
            self._gap = self._gap_at(self.next_at)
        if self._gap and self._pace.pattern == "poisson":
            self.next_at += max(1, round(self._random.expovariate(1) * self._gap))
        else:
            self.next_at += self._gap
