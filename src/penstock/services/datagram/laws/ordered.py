"""Whether messages wait for the messages before them, on a path that varies but keeps their order.

Behind such a path a flow is hardly ever as quick as its quickest message, although nothing is
congested.  The delay alone cannot tell that from a queue.  The gaps can:

1. A message that waited for the one before it arrives together with it.  It was *held* if the gap
   at its arrival is less than ``HELD_PART`` of the gap at its sending.
2. A queue does not do this: what leaves it is spaced by the link, and while it drains at half of
   the load, gaps shrink to a half and no further.
3. A path is *ordered* while a quarter of the last messages or more were held.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import Duration, Instant

HELD_PART: Final = 4
"""A drain halves a load; half of that again is no queue."""

SMOOTHING: Final = 64
"""Messages: more than pass in a drain at the rates at which messages wait for each other."""

ORDERED_SHARE: Final = 1 / 4
"""Where fewer wait for others, the rest show the shortest delay (``jitter``)."""


class OrderedPath:
    """What one session knows of its path."""

    __slots__ = ("_held_share", "_last")

    def __init__(self) -> None:
        """No message yet."""
        self._held_share = 0.0
        self._last: tuple[Duration, Instant] | None = None

    def clock_was_set(self) -> None:
        """The next delay is by another clock."""
        self._last = None

    def arrived(self, one_way_ns: Duration, now: Instant) -> None:
        """Take in the delay of the next message."""
        last, self._last = self._last, (one_way_ns, now)
        if last is None:
            return
        gap = now - last[1]
        sent_gap = gap - (one_way_ns - last[0])
        held = HELD_PART * gap < sent_gap
        self._held_share += (held - self._held_share) / SMOOTHING

    @property
    def keeps_order(self) -> bool:
        """Whether messages wait for each other (rule 3)."""
        return self._held_share >= ORDERED_SHARE
