"""How far above the doubt horizon an edge may ask for unknown ticks.

The NACK window is apart from the receive window (Section 4): the receive window bounds memory, the
NACK window bounds what a recovering edge takes from the network.
"""

from __future__ import annotations

from typing import Protocol

from penstock.core.clock import SECOND, Duration


class NackWindow(Protocol):
    """A policy for the size of the window."""

    @property
    def size_ns(self) -> Duration:
        """The size at present, in ticks."""
        ...

    def answered(self, span: Duration, count_bytes: int, *, more: bool) -> None:
        """A request for ``span`` ticks was answered; ``more`` means that it hit a limit."""
        ...


class FixedNackWindow:
    """Ask for everything that fits the receive window: no recovery control at all."""

    __slots__ = ("_size",)

    def __init__(self, size: Duration) -> None:
        """The window never changes."""
        self._size = size

    @property
    def size_ns(self) -> Duration:
        """The size at present, in ticks."""
        return self._size

    def answered(self, span: Duration, count_bytes: int, *, more: bool) -> None:
        """Nothing is learnt from an answer."""


class CatchUpWindow:
    """For one subscriber that reads the past: a window in bytes, expressed in ticks.

    The past may be dense or empty.  While answers are small the window doubles, so that days of
    silence pass in a few round trips; when an answer hits its limit the window halves.
    """

    __slots__ = ("_answer_bytes", "_size")

    INITIAL: Duration = SECOND
    SMALLEST: Duration = SECOND // 1000
    LARGEST: Duration = 366 * 24 * 3600 * SECOND

    def __init__(self, answer_bytes: int) -> None:
        """``answer_bytes`` is what one answer holds at most."""
        self._answer_bytes = answer_bytes
        self._size = self.INITIAL

    @property
    def size_ns(self) -> Duration:
        """The size at present, in ticks."""
        return self._size

    def answered(self, span: Duration, count_bytes: int, *, more: bool) -> None:
        """Grow after small answers, shrink after large ones."""
        if more:
            self._size = max(self.SMALLEST, self._size // 2)
        elif 2 * count_bytes < self._answer_bytes and 2 * span >= self._size:
            self._size = min(self.LARGEST, self._size * 2)
