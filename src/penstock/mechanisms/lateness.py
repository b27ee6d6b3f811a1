"""How late a machine is woken: whether its process gets the processor that it needs.

A machine says when it must be woken.  A driver that wakes it later has had no processor, or too
much to do.  The longest delay of the last ``WINDOW_NS`` to twice as long is kept.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant

WINDOW_NS: Final[Duration] = 5 * SECOND
"""A person who asks what slows a publisher down means the last few seconds."""

BUSY_NS: Final[Duration] = 100 * MILLISECOND
"""An operating system's scheduler shares a processor among ten others in time slices of 10 ms."""


class Lateness:
    """The longest delay of the recent past."""

    __slots__ = ("_before", "_forget_at", "_worst")

    def __init__(self) -> None:
        self._worst: Duration = 0
        self._before: Duration = 0
        self._forget_at: Instant = 0

    def woken(self, due: Instant | None, now: Instant) -> None:
        """The machine was woken now, and should have been at ``due``."""
        self._turn(now)
        if due is not None and now - due > self._worst:
            self._worst = now - due

    def worst(self, now: Instant) -> Duration:
        """The longest delay of the last five to ten seconds."""
        self._turn(now)
        return max(self._worst, self._before)

    def _turn(self, now: Instant) -> None:
        if now < self._forget_at:
            return
        recent = now < self._forget_at + WINDOW_NS
        self._before, self._worst = (self._worst if recent else 0), 0
        self._forget_at = now + WINDOW_NS
