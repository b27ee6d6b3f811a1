"""The loss event rate: the inverse of the mean loss interval (Section II-A, after TFRC).

1. A loss event is one or more losses within one round trip; an interval counts the messages
   between two events.
2. The mean is over the last eight intervals, weighted 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2 from the
   newest (RFC 5348, Section 5.4).
3. The interval that is still open counts if it raises the mean: a long time without losses is good
   news at once, a short one is no news.
4. Before the first event there is no rate.  At the first one the caller says which interval stands
   for what was before.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.core.clock import Duration, Instant

WEIGHTS: Final = (1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2)


class LossHistory:
    """The intervals between loss events as one receiver saw them."""

    __slots__ = ("_closed", "_event_at", "_open", "events")

    def __init__(self) -> None:
        """No loss so far."""
        self._closed: deque[float] = deque(maxlen=len(WEIGHTS))
        self._open = 0.0
        self._event_at: Instant = 0
        self.events = 0

    def arrived(self, weight: float = 1.0) -> None:
        """A message came; less than one of it counts where a loss may have gone unnoticed."""
        self._open += weight

    def lost(self, now: Instant, round_trip_ns: Duration, first_interval: float) -> bool:
        """Something was lost; True if that begins a new event.

        ``first_interval`` stands for the time before the first event.
        """
        if self.events and now < self._event_at + round_trip_ns:
            return False
        self._closed.appendleft(max(1.0, self._open) if self.events else max(1.0, first_interval))
        self._open = 0.0
        self._event_at = now
        self.events += 1
        return True

    def begin_anew(self, interval: float) -> None:
        """Forget what was before; this interval stands for it."""
        self._closed.clear()
        self._closed.append(max(1.0, interval))
        self._open = 0.0

    @property
    def last_event_at(self) -> Instant | None:
        """When the last event began."""
        return self._event_at if self.events else None

    def loss_event_rate(self) -> float:
        """Events for each message; 0 before the first event."""
        if not self._closed:
            return 0.0
        with_open = _weighted_mean((self._open, *self._closed))
        return 1 / max(with_open, _weighted_mean(self._closed))


def _weighted_mean(intervals: tuple[float, ...] | deque[float]) -> float:
    pairs = list(zip(intervals, WEIGHTS, strict=False))
    return sum(length * weight for length, weight in pairs) / sum(weight for _, weight in pairs)
