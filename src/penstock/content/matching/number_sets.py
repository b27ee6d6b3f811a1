"""Sets of numbers, as the places where membership changes.

1. A *cut* is a place between numbers: ``(5, BEFORE)`` lies just below 5 and ``(5, AFTER)`` just
   above it.  Cuts compare as tuples, exactly, whether their numbers are integers or floats.
2. A set is the ascending tuple of the cuts at which one enters and leaves it, in turns: ``x > 5``
   is ``((5, AFTER), TOP)``, ``x = 5`` is ``((5, BEFORE), (5, AFTER))``.  Every set of numbers that
   comparisons can describe has exactly one such tuple, so equality is equality of tuples.
3. NaN has no place in the order; whether a set holds it is said beside the cuts.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, TypeAlias

import msgspec

from penstock.content.selectors.number_arithmetic import Number

Cut: TypeAlias = tuple[Number, int]

BEFORE: Final = 0
AFTER: Final = 1
BOTTOM: Final[Cut] = (-math.inf, BEFORE)
TOP: Final[Cut] = (math.inf, AFTER)


class NumberSet(msgspec.Struct, frozen=True, gc=False):
    """A set of integers and floats."""

    cuts: tuple[Cut, ...]
    nan: bool = False

    def __contains__(self, number: Number) -> bool:
        """Whether the set holds a number."""
        if number != number:
            return self.nan
        # The cut just above the number's own place decides: an odd count of cuts was passed.
        return bisect_right(self.cuts, (number, BEFORE)) % 2 == 1

    def __and__(self, other: NumberSet) -> NumberSet:
        """What both hold."""
        return NumberSet(_swept(self.cuts, other.cuts, needed=2), self.nan and other.nan)

    def __or__(self, other: NumberSet) -> NumberSet:
        """What either holds."""
        return NumberSet(_swept(self.cuts, other.cuts, needed=1), self.nan or other.nan)

    def __invert__(self) -> NumberSet:
        """All other numbers."""
        cuts = self.cuts
        start: tuple[Cut, ...] = () if cuts and cuts[0] == BOTTOM else (BOTTOM,)
        end: tuple[Cut, ...] = () if cuts and cuts[-1] == TOP else (TOP,)
        inner = cuts[0 if start else 1 : len(cuts) if end else -1]
        return NumberSet(start + inner + end, not self.nan)

    def __bool__(self) -> bool:
        """Whether the set holds anything."""
        return bool(self.cuts) or self.nan

    @property
    def is_finite(self) -> bool:
        """Whether the set is a list of single numbers."""
        lows, highs = self.cuts[::2], self.cuts[1::2]
        return not self.nan and all(
            low[0] == high[0] for low, high in zip(lows, highs, strict=True)
        )

    def intervals(self) -> list[tuple[Cut, Cut]]:
        """Entering and leaving cuts in pairs, ascending."""
        return list(zip(self.cuts[::2], self.cuts[1::2], strict=True))


NO_NUMBERS: Final = NumberSet(())
ALL_NUMBERS: Final = NumberSet((BOTTOM, TOP), nan=True)


def exactly(numbers: Iterable[Number]) -> NumberSet:
    """These numbers; NaN, which equals nothing, adds nothing."""
    ascending = sorted({number for number in numbers if number == number})
    return NumberSet(tuple((number, side) for number in ascending for side in (BEFORE, AFTER)))


def above(bound: Number, *, inclusive: bool) -> NumberSet:
    """Numbers greater than a bound, or also equal to it; none for NaN."""
    if bound != bound or (bound == math.inf and not inclusive):
        return NO_NUMBERS
    return NumberSet(((bound, BEFORE if inclusive else AFTER), TOP))


def below(bound: Number, *, inclusive: bool) -> NumberSet:
    """Numbers less than a bound, or also equal to it; none for NaN."""
    if bound != bound or (bound == -math.inf and not inclusive):
        return NO_NUMBERS
    return NumberSet((BOTTOM, (bound, AFTER if inclusive else BEFORE)))


def _swept(first: tuple[Cut, ...], second: tuple[Cut, ...], *, needed: int) -> tuple[Cut, ...]:
    """The cuts at which the number of sets that one is in passes ``needed``."""
    changes: dict[Cut, int] = {}
    for cuts in (first, second):
        for position, cut in enumerate(cuts):
            changes[cut] = changes.get(cut, 0) + (-1 if position % 2 else 1)
    within = 0
    kept: list[Cut] = []
    for cut in sorted(changes):
        before = within >= needed
        within += changes[cut]
        if (within >= needed) is not before:
            kept.append(cut)
    return tuple(kept)
