"""Time as integers.

An instant is a number of nanoseconds since the Unix epoch (in the simulator: since the start of the
run), a duration is a number of nanoseconds.  Integers compare exactly, add without rounding and
serve as stream ticks, so no protocol holds a floating-point time.
"""

from __future__ import annotations

from typing import Final, TypeAlias

Instant: TypeAlias = int
Duration: TypeAlias = int

NANOSECOND: Final[Duration] = 1
MICROSECOND: Final[Duration] = 1_000
MILLISECOND: Final[Duration] = 1_000_000
SECOND: Final[Duration] = 1_000_000_000
MINUTE: Final[Duration] = 60 * SECOND
HOUR: Final[Duration] = 60 * MINUTE

NEVER: Final[Instant] = 2**63 - 1
"""Later than every instant; also the end of a stream that has no end."""


def seconds(value: float) -> Duration:
    """A duration from seconds, rounded to the nanosecond."""
    return round(value * SECOND)


def milliseconds(value: float) -> Duration:
    """A duration from milliseconds, rounded to the nanosecond."""
    return round(value * MILLISECOND)


def in_seconds(duration: Duration) -> float:
    """A duration as seconds, for people and for rates."""
    return duration / SECOND


def earliest(*deadlines: Instant | None) -> Instant | None:
    """The first of several deadlines; None stands for no deadline."""
    first: Instant | None = None
    for deadline in deadlines:
        if deadline is not None and (first is None or deadline < first):
            first = deadline
    return first
