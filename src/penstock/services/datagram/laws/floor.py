"""The delay that a dense flow has without any queue.

Messages that stay in order wait for the slowest before them, so that a dense flow behind a jittery
process or path is hardly ever as quick as its quickest message.  The difference of two delays in a
row (``jitter``) does not show it: both waited for the same one.

1. The time is divided into blocks.  The least delay of a block of ``DENSE`` messages or more
   counts; after a block of fewer the measurement begins anew.
2. The floor is the least mean of ``BLOCKS`` blocks in a row, over the last minutes: that of a calm
   time, a drain at the latest.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.core.clock import Duration, Instant
from penstock.services.datagram.laws.least import Least

DENSE: Final = 16
"""Messages of a block of 25 ms, or 640 a second.  The queue of a thinner flow is long enough for
its jitter to be small beside it, and flows of one queue that differ in this would not be equal."""

BLOCKS: Final = 6
"""Of 25 ms each: a drain lasts for ten."""


class DelayFloor:
    """The floor that one session has measured."""

    __slots__ = ("_begun", "_block_ns", "_count", "_current", "_last", "_least", "least_ns")

    def __init__(self, block_ns: Duration, window_ns: Duration) -> None:
        """The least is over at least ``window_ns``."""
        self.least_ns: Duration | None = None
        """By the two clocks, as delays are; None for a flow that is not dense."""
        self._block_ns = block_ns
        self._least = Least(window_ns)
        self._last: deque[Duration] = deque(maxlen=BLOCKS)
        self._begun: Instant = 0
        self._count = 0
        self._current: Duration = 0

    def reset(self) -> None:
        """Nothing before counts: the clock was set."""
        self._least.reset()
        self._last.clear()
        self._count = 0
        self.least_ns = None

    def arrived(self, one_way_ns: Duration, now: Instant) -> None:
        """Take in the delay of the next message."""
        if now - self._begun >= self._block_ns:
            self._end_block(now)
        self._current = min(self._current, one_way_ns) if self._count else one_way_ns
        self._count += 1

    def _end_block(self, now: Instant) -> None:
        if self._count >= DENSE and now - self._begun < 2 * self._block_ns:
            self._last.append(self._current)
        else:
            self._last.clear()
        self._begun, self._count = now, 0
        if len(self._last) == BLOCKS:
            self.least_ns = self._least.of(sum(self._last) // BLOCKS, now)
