"""The reception rate of one session, without the bias of a count.

A meter that divides the messages in a window by its length reads too much when it is asked at an
arrival: sixteen messages mark fifteen intervals.  The delay law multiplies what the meter reads at
every decision, so a bias of 6 % would be a growth of 6 %.

1. The rate is that of the intervals: the messages after the first instant of the window, by the
   time since that instant.  Messages that arrive together count together.
2. The window is ``SHORTEST_NS``, or the last ``ENOUGH`` messages if those took longer.
3. If the next message is overdue, the time until now counts: a flow that stops is not held to be
   as fast as before.
4. After a gap of ``OUTAGE_NS`` and ``OUTAGE_INTERVALS`` intervals the rate is measured anew: no
   congestion loses so many messages in a row, and an outage says nothing about the time after it.
5. At most ``REMEMBERED`` instants are kept.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant

SHORTEST_NS: Final[Duration] = 100 * MILLISECOND
"""Two reports: a change of the capacity shows in the next decision but one."""

ENOUGH: Final = 4
"""A flow that is held back is paced by its tokens, and eight paced intervals tell its rate to a
few per cent at 4 ms of jitter."""

OUTAGE_NS: Final[Duration] = 500 * MILLISECOND
"""Ten reports."""

OUTAGE_INTERVALS: Final = 16
"""If half of all messages are lost, one flow in 65,000 loses sixteen in a row."""

REMEMBERED: Final = 2048
"""Instants, each with any number of messages; at more than this the window is shorter."""


class ReceptionRate:
    """The instants of the latest arrivals and how many messages came at each."""

    __slots__ = ("_arrivals", "_messages")

    def __init__(self) -> None:
        self._arrivals: deque[tuple[Instant, int]] = deque()
        self._messages = 0

    def add(self, messages: int, now: Instant) -> bool:
        """Count messages that arrived together; True if they end an outage."""
        outage = self._ends_outage(now)
        if outage:
            self._arrivals.clear()
            self._messages = 0
        self._count(messages, now)
        return outage

    def _ends_outage(self, now: Instant) -> bool:
        arrivals = self._arrivals
        if len(arrivals) < 2:
            return False
        (first, together), last = arrivals[0], arrivals[-1][0]
        gap, counted = now - last, self._messages - together
        return gap > OUTAGE_NS and gap * counted > OUTAGE_INTERVALS * (last - first)

    def _count(self, messages: int, now: Instant) -> None:
        arrivals = self._arrivals
        if arrivals and arrivals[-1][0] == now:
            before = arrivals.pop()[1]
            self._messages -= before
            messages += before
        arrivals.append((now, messages))
        self._messages += messages
        while len(arrivals) > 2 and (
            len(arrivals) > REMEMBERED
            or (arrivals[1][0] <= now - SHORTEST_NS and self._messages - arrivals[0][1] > ENOUGH)
        ):
            self._messages -= arrivals.popleft()[1]

    @property
    def settled(self) -> bool:
        """Whether the rate is that of ``ENOUGH`` messages."""
        return bool(self._arrivals) and self._messages - self._arrivals[0][1] >= ENOUGH

    @property
    def window(self) -> tuple[Instant, Instant] | None:
        """The instants between which the rate is taken; None before the second one."""
        arrivals = self._arrivals
        return None if len(arrivals) < 2 else (arrivals[0][0], arrivals[-1][0])

    def per_second(self, now: Instant) -> float | None:
        """The rate at present; None before the second instant."""
        arrivals = self._arrivals
        if len(arrivals) < 2:
            return None
        first, together = arrivals[0]
        last = arrivals[-1][0]
        counted = self._messages - together
        rate = counted * SECOND / (last - first)
        overdue = (counted + 1) * SECOND / max(1, now - first)
        return min(rate, overdue)
