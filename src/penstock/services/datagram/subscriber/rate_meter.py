"""Messages a second, as recent as the flow is thick.

A window of fixed length is too long for a thick flow or too short for a thin one.  So the rate is
taken over ``WINDOW_NS``, and over the last ``ENOUGH_MESSAGES`` if that is longer, but never over
more than ``LONGEST_NS``.
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

REMEMBERED_MESSAGES: Final = 4096
"""Bound on what is remembered: at more than 40,000 messages a second the window is shorter."""


class RateMeter:
    """The arrivals of one flow."""

    __slots__ = ("_arrivals", "_began", "total")

    def __init__(self, now: Instant) -> None:
        """Nothing has come."""
        self._arrivals: deque[Instant] = deque()
        self._began = now
        self.total = 0

    def add(self, now: Instant) -> None:
        """A message came."""
        arrivals = self._arrivals
        arrivals.append(now)
        self.total += 1
        if arrivals[0] < now - WINDOW_NS:
            while len(arrivals) > ENOUGH_MESSAGES and arrivals[0] < now - WINDOW_NS:
                arrivals.popleft()
        if len(arrivals) > REMEMBERED_MESSAGES:
            # The window begins behind what is forgotten; a rate over the whole of it would not
            # rise beyond what is remembered.
            self._began = arrivals.popleft()

    def per_second(self, now: Instant) -> float:
        """The rate at present."""
        arrivals = self._arrivals
        while arrivals and (
            arrivals[0] < now - LONGEST_NS
            or (len(arrivals) > ENOUGH_MESSAGES and arrivals[0] < now - WINDOW_NS)
        ):
            arrivals.popleft()
        if not arrivals:
            return 0.0
        since = min(arrivals[0], now - WINDOW_NS)
        return len(arrivals) * SECOND / max(1, now - max(since, self._began))
