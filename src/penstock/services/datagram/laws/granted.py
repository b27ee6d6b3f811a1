"""What a law has granted lately, to read a reception rate that lags behind a growing quota.

A thin flow needs seconds for the few messages that tell its rate, and in that time its quota has
grown several times.  Growth from the rate that was measured would be growth from the past.

1. The quotas in force are remembered with their instants.
2. A reception rate measured over a window, by the mean of the quotas in force a round trip before,
   is the part of what was granted that has arrived.
3. The present rate is that part of the present quota; the part counts as ``MOST_PART`` at most,
   because a flow cannot receive more than it was granted, apart from the scatter of few messages.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.core.clock import Duration, Instant

REMEMBERED: Final = 64
"""Quotas: more than decisions in the window of any rate that is measured by four messages."""

MOST_PART: Final = 1.1
"""More than all of what was granted cannot arrive, apart from scatter.  The value is a guess of the
scatter of four paced intervals and was not varied."""


class GrantedRates:
    """The quotas of one session in the order in which they came into force."""

    __slots__ = ("_quotas",)

    def __init__(self) -> None:
        self._quotas: deque[tuple[Instant, float]] = deque(maxlen=REMEMBERED)

    def add(self, quota_msgs_per_s: float, now: Instant) -> None:
        """A quota is in force from now on."""
        self._quotas.append((now, quota_msgs_per_s))

    def forget(self) -> None:
        """What was granted before says nothing about the present."""
        self._quotas.clear()

    def present_rate(
        self, measured: float, window: tuple[Instant, Instant], round_trip_ns: Duration
    ) -> float:
        """What arrives now if ``measured`` arrived in the window."""
        mean = self._mean(window[0] - round_trip_ns, window[1] - round_trip_ns)
        if mean is None:
            return measured
        return min(MOST_PART, measured / mean) * self._quotas[-1][1]

    def _mean(self, start: Instant, end: Instant) -> float | None:
        """The mean quota of a time; None if it is not known for all of it."""
        granted, until = 0.0, end
        for at, quota in reversed(self._quotas):
            if at < until:
                since = max(at, start)
                granted += quota * (until - since)
                until = since
            if until <= start:
                return granted / (end - start)
        return None
