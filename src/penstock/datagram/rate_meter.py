"""Messages a second, as recent as the flow is thick.

A window of fixed length is too long for a thick flow or too short for a thin one.  So the rate is
taken over ``WINDOW_NS``, and over the last ``ENOUGH_MESSAGES`` if that is longer, but never over
more than ``LONGEST_NS``.

Messages that come at the same instant are remembered together.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant

WINDOW_NS: Final[Duration] = 100 * MILLISECOND
"""Two reports: a change shows at once."""

ENOUGH_MESSAGES: Final = 16
"""Sixteen messages of a Poisson flow tell its rate to a quarter."""

LONGEST_NS: Final[Duration] = 2 * SECOND

REMEMBERED_INSTANTS: Final = 4096
"""Bound on what is remembered: where messages come one by one, more than 40,000 a second, the
window is shorter."""


class RateMeter:
    """The arrivals of one flow."""

    __slots__ = ("_arrivals", "_began", "_remembered", "total")

    def __init__(self, now: Instant) -> None:
        """Nothing has come."""
        self._arrivals: deque[list[int]] = deque()
        """Instants, and how many messages came at each."""
        self._remembered = 0
        self._began = now
        self.total = 0

    def add(self, now: Instant) -> None:
        """A message came."""
        arrivals = self._arrivals
        self._remembered += 1
        self.total += 1
        if arrivals and arrivals[-1][0] == now:
            arrivals[-1][1] += 1
            return
        arrivals.append([now, 1])
        if self._remembered > ENOUGH_MESSAGES and arrivals[0][0] < now - WINDOW_NS:
            self._trim(now - WINDOW_NS)
        if len(arrivals) > REMEMBERED_INSTANTS:
            # The window begins behind what is forgotten.
            self._began, forgotten = arrivals.popleft()
            self._remembered -= forgotten

    def _trim(self, before: Instant) -> None:
        """Forget what is older, but not the last few messages."""
        arrivals = self._arrivals
        while self._remembered > ENOUGH_MESSAGES and arrivals[0][0] < before:
            oldest = arrivals[0]
            forgotten = min(oldest[1], self._remembered - ENOUGH_MESSAGES)
            self._remembered -= forgotten
            oldest[1] -= forgotten
            if not oldest[1]:
                arrivals.popleft()

    def per_second(self, now: Instant) -> float:
        """The rate at present."""
        arrivals = self._arrivals
        while arrivals and arrivals[0][0] < now - LONGEST_NS:
            self._remembered -= arrivals.popleft()[1]
        self._trim(now - WINDOW_NS)
        if not arrivals:
            return 0.0
        since = min(arrivals[0][0], now - WINDOW_NS)
        return self._remembered * SECOND / max(1, now - max(since, self._began))
