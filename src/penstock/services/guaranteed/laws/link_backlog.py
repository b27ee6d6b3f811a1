"""How much of one pubend's live data waits on one link, and how fast the link takes it.

1. The policy is told what was sent on the link, and at fixed intervals what of it still waits; the
   rest was taken by the link.
2. While nothing waits, the link takes whatever comes.  How much that can be is not known before it
   was tried: at first ``FIRST_BYTES``, then ``GROWTH`` times what the link took between two
   measurements without a queue, as TCP's slow start does.
3. While data waits, the link is the bottleneck, and what it takes is its rate for this pubend: on a
   fair link its share.  The rate is measured between the instants at which the link took something,
   since the queue began to stand, over ``WINDOW_NS`` at most.
4. ``TARGET_NS`` of that rate may wait: enough to keep the link busy until the next measurements.
5. A queue stands when it has not been empty for ``STANDS_NS``, or holds more than a burst
   (``BURST_BYTES``): a message that waits behind one of another flow is no congestion.
6. A link that takes nothing for ``STALLED_NS`` while data waits does not carry less, it is broken.
   It holds nobody up; what it misses is recovered when it is back, or on another path.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant

FIRST_BYTES: Final = 64 << 10
"""What a TCP connection keeps in flight without window scaling."""

GROWTH: Final = 2
"""As TCP's slow start: links further on can only report what has reached them."""

TARGET_NS: Final[Duration] = 200 * MILLISECOND
"""Four intervals of measurement: one passes until a change is seen, the others cover late ones."""

WINDOW_NS: Final[Duration] = 2 * SECOND
"""Measurements are 50 ms apart: the rate is exact to 2.5 %, which is half of Δt_nonrec."""

STANDS_NS: Final[Duration] = SECOND
"""An interval of the paper's queries: longer than one large message of another flow takes."""

BURST_BYTES: Final = FIRST_BYTES // 2
"""Half of what a pubend may send before anything is known."""

STALLED_NS: Final[Duration] = 4 * SECOND
"""Δt_s of the paper: an edge that far behind is not kept up with any more."""


class LinkBacklog:
    """The live data of one pubend on one link."""

    __slots__ = (
        "_burst",
        "_empty_at",
        "_marks",
        "_moved_at",
        "_sent",
        "_since",
        "_taken",
        "waiting",
    )

    def __init__(self, now: Instant) -> None:
        self.waiting = 0
        """What waited at the last measurement."""
        self._since = 0
        """What was sent since then."""
        self._sent = 0
        self._taken = 0
        self._burst = FIRST_BYTES
        self._marks: deque[tuple[Instant, int]] = deque()
        """When the link took something, and how much it had taken then."""
        self._moved_at = now
        self._empty_at = now

    def sent(self, count_bytes: int) -> None:
        """Data was put on the link."""
        self._since += count_bytes
        self._sent += count_bytes

    def measured(self, waiting: int, now: Instant) -> None:
        """So much of it waits now."""
        since, self._since, self.waiting = self._since, 0, waiting
        # What was sent before the first measurement is not known here, and waits all the same.
        self._sent = max(self._sent, self._taken + waiting)
        taken = self._sent - waiting
        moved = taken > self._taken
        self._taken = taken
        if not waiting:
            self._marks.clear()
            self._moved_at = self._empty_at = now
            self._burst = max(self._burst, GROWTH * since)
            return
        if moved or not self._marks:
            self._moved_at = now
            self._mark(now, taken)
            rate = self.rate_bytes_per_s
            if rate:
                self._burst = max(FIRST_BYTES, round(rate * TARGET_NS / SECOND))

    def _mark(self, now: Instant, taken: int) -> None:
        marks = self._marks
        marks.append((now, taken))
        while len(marks) > 2 and marks[1][0] <= now - WINDOW_NS:
            marks.popleft()

    @property
    def rate_bytes_per_s(self) -> float:
        """What the link takes while data waits; 0 while it is not known."""
        if len(self._marks) < 2:
            return 0.0
        (start, before), (end, after) = self._marks[0], self._marks[-1]
        if end - start < TARGET_NS:
            return 0.0
        return (after - before) * SECOND / (end - start)

    def is_full(self, unsent: float, now: Instant) -> bool:
        """Whether nothing more may be published; ``unsent`` bytes are on their way to the link."""
        coming = self._since + unsent
        if not self.waiting:
            return coming >= self._burst
        if self.is_stalled(now):
            return False
        rate = self.rate_bytes_per_s
        if not rate:
            return self.waiting + coming >= self._burst
        return self.waiting + coming >= rate * TARGET_NS / SECOND

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits, and nothing was sent since the last measurement."""
        return not self.waiting and not self._since

    def stands(self, now: Instant) -> bool:
        """Whether the queue is more than a message that waits for its turn."""
        if self.waiting >= BURST_BYTES:
            return True
        return self.waiting > 0 and now - self._empty_at >= STANDS_NS

    def is_stalled(self, now: Instant) -> bool:
        """Whether the link is broken rather than slow."""
        return self.waiting > 0 and now - self._moved_at >= STALLED_NS
