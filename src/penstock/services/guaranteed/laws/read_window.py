"""The NACK window of a reader of the past: SDCC's idea for history of any density.

SDCC (Section 3.2) opens and closes a recovering edge's window with the recovery rate, as TCP Vegas
does: it opens while more requests bring more data, and closes when they only lengthen the queues.
That window is a span of ticks that the live stream has just filled.  A job that reads a day of
history meets dense and empty hours, and several of its tasks read at once.  Therefore:

1. The window is kept in bytes.  In ticks it is converted with the density of the last answers;
   through silence it doubles, which costs the network nothing.
2. The cost of longer queues is measured directly: the round trip of a request above the shortest
   recent one over as many links.  That is the delay that this reader adds to live data, and it may
   be ``TARGET``.
3. Once for every window that was answered the window opens, by a quarter at most, in proportion to
   the distance to the target, and closes in the same way beyond it (as LEDBAT does, RFC 6817).
   On an idle network it opens with every round trip; on a busy one it yields.
4. The shortest round trip is forgotten after a while; otherwise a path that has become longer would
   look congested for ever.
5. A broker that hosts the pubend itself reads its own disk: no link has to be spared, so the window
   is as large as it may be.
6. The window is requested in a few pieces.  The source is told how many bytes a piece may bring, so
   that a dense hour after a silent one does not arrive all at once.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, MINUTE, SECOND, Duration, Instant
from penstock.services.guaranteed.laws.answer_round_trips import ShortestRoundTrips
from penstock.services.guaranteed.laws.nack_window import NackAnswer

PIECES: Final = 4
"""In how many pieces the window is requested: enough to keep the next one in flight while the last
one is consumed, and few enough that rows are seldom cut apart."""

TARGET: Final[Duration] = 10 * MILLISECOND
"""The delay that a reader may cause.  A live edge alerts when its horizon falls behind by 50 ms in
a second (Δt_nonrec); a fifth of that leaves room for several readers that start at once."""

GAIN: Final = 0.25
"""The share by which the window opens when there is no delay."""

SMALLEST_BYTES: Final = 2 << 10
"""A window of a packet or two; below that the round trip alone sets the rate."""

FIRST_BYTES: Final = 4 << 10
"""The window of every new read, whatever the network: a few packets."""

FORGET_AFTER: Final[Duration] = MINUTE
"""The shortest round trip is that of the last one to two of these intervals."""

FIRST_SPAN: Final[Duration] = SECOND // 10
SMALLEST_SPAN: Final[Duration] = MILLISECOND
LARGEST_SPAN: Final[Duration] = 366 * 24 * 3600 * SECOND
"""Bounds of the window in ticks; the first serves until the density is known."""


class ReadWindow:
    """The NACK window of one reader of the past."""

    __slots__ = (
        "_answered_bytes",
        "_largest_bytes",
        "_paced",
        "_seen_bytes",
        "_seen_span",
        "_shortest",
        "_size_ns",
        "_window_bytes",
    )

    def __init__(self, answer_bytes: int, *, paced: bool = True) -> None:
        """``answer_bytes`` is what one answer holds at most."""
        self._largest_bytes = PIECES * answer_bytes
        self._paced = paced
        self._window_bytes = float(min(FIRST_BYTES if paced else answer_bytes, answer_bytes))
        self._size_ns = FIRST_SPAN
        self._seen_bytes = 0
        self._seen_span: Duration = 0
        self._answered_bytes = 0
        self._shortest = ShortestRoundTrips(FORGET_AFTER)

    @property
    def size_ns(self) -> Duration:
        """The size at present, in ticks."""
        return self._size_ns

    @property
    def window_bytes(self) -> float:
        """The size at present, in bytes of history."""
        return self._window_bytes

    @property
    def piece_bytes(self) -> int:
        """The most bytes that one piece may bring."""
        return max(1, round(self._window_bytes / PIECES))

    @property
    def waits_for_the_network(self) -> bool:
        """A reader of the past answers no queries."""
        return True

    def recovery_began(self, now: Instant) -> None:
        """A read begins with a window of its own."""

    def path_changed(self) -> None:
        self._shortest.forget()

    def answered(self, answer: NackAnswer) -> None:
        """Update the density, and decide once for every window."""
        self._seen_span += answer.span
        self._seen_bytes += answer.count_bytes
        self._answered_bytes += answer.count_bytes
        enough = 2 * self._seen_span >= self._size_ns or self._seen_bytes >= self._window_bytes
        if answer.more or enough:
            self._resize()
        round_trip = answer.round_trip_over_links
        if round_trip is not None and self._answered_bytes >= self._window_bytes:
            self._answered_bytes = 0
            self._decide(self._shortest.excess(round_trip, answer.links, answer.now))

    def _resize(self) -> None:
        """Convert the window to ticks with the density measured since the last conversion."""
        if not self._seen_bytes:
            self._size_ns = min(LARGEST_SPAN, 2 * self._size_ns)
        else:
            fitting = round(self._window_bytes * self._seen_span / self._seen_bytes)
            # After a dense piece the window closes at once, after a thin one it opens slowly.
            self._size_ns = max(SMALLEST_SPAN, min(LARGEST_SPAN, fitting, 2 * self._size_ns))
        self._seen_span = self._seen_bytes = 0

    def _decide(self, delay: Duration) -> None:
        missing = max(-1.0, (TARGET - delay) / TARGET) if self._paced else 1.0
        opened = self._window_bytes * (1 + GAIN * missing)
        self._window_bytes = min(self._largest_bytes, max(SMALLEST_BYTES, opened))
