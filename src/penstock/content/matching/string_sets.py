"""Sets of strings that ``=``, ``IN`` and ``LIKE`` can describe.

1. A *region* is every string that has the form of all of its ``likes`` and of none of its
   ``unlikes`` and is not one of its ``excluded`` ones.
2. A set is a finite number of strings together with regions.  Such sets are closed under
   intersection, union and complement.
3. Whether a region is empty is decided only where that is easy (a pattern included in one that it
   must not match, two patterns that no string can match at once).  In doubt it counts as not empty,
   which makes covering claim less and never too much.
4. Operations multiply regions and patterns.  What exceeds the bounds below raises
   ``TooComplicated``, upon which the caller leaves the condition unindexed: no selector, however
   hostile, may keep a broker thinking.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.content.selectors.like_pattern import ANYTHING, LikePattern

MAX_REGIONS: Final = 8
"""``LIKE`` alternatives on one attribute that are reasoned about together."""

MAX_PATTERNS: Final = 8
"""``LIKE`` and ``NOT LIKE`` that must hold of a string at the same time."""

MAX_CROSSED_REGIONS: Final = 2 * MAX_REGIONS
"""Regions that one operation may produce before they are simplified."""

MAX_MATCHES: Final = 4096
"""Strings that one operation may match with patterns: some milliseconds."""


class TooComplicated(Exception):
    """A set of strings exceeds the bounds within which it is reasoned about."""


class Region(msgspec.Struct, frozen=True, gc=False):
    """Strings of a certain form (rule 1); without any pattern, all but the excluded strings."""

    likes: frozenset[LikePattern] = frozenset()
    unlikes: frozenset[LikePattern] = frozenset()
    excluded: frozenset[str] = frozenset()

    def __contains__(self, text: str) -> bool:
        """Whether a string lies in the region."""
        return (
            text not in self.excluded
            and all(pattern.matches(text) for pattern in self.likes)
            and not any(pattern.matches(text) for pattern in self.unlikes)
        )

    def __and__(self, other: Region) -> Region:
        """What lies in both, with the implied constraints left out."""
        if len(self.patterns | other.patterns) > MAX_PATTERNS:
            raise TooComplicated
        likes = _narrowest(self.likes | other.likes)
        unlikes = frozenset(
            pattern
            for pattern in _widest(self.unlikes | other.unlikes)
            if not any(pattern.excludes(like) for like in likes)
        )
        open_region = Region(likes, unlikes)
        excluded = frozenset(t for t in self.excluded | other.excluded if t in open_region)
        return Region(likes, unlikes, excluded)

    @property
    def is_surely_empty(self) -> bool:
        """Whether no string can lie in the region (rule 3)."""
        if ANYTHING in self.unlikes:
            return True
        likes = sorted(self.likes, key=_order)
        if any(unlike.includes(like) for unlike in self.unlikes for like in likes):
            return True
        return any(
            first.excludes(second) for at, first in enumerate(likes) for second in likes[at + 1 :]
        )

    @property
    def patterns(self) -> frozenset[LikePattern]:
        """All patterns that decide about a string."""
        return self.likes | self.unlikes


class StringSet(msgspec.Struct, frozen=True, gc=False):
    """Single strings together with regions (rule 2)."""

    finite: frozenset[str] = frozenset()
    regions: tuple[Region, ...] = ()

    def __contains__(self, text: str) -> bool:
        """Whether the set holds a string."""
        return text in self.finite or any(text in region for region in self.regions)

    def __and__(self, other: StringSet) -> StringSet:
        """What both hold."""
        matches = len(self.finite) * other.pattern_count + len(other.finite) * self.pattern_count
        if matches > MAX_MATCHES or len(self.regions) * len(other.regions) > MAX_CROSSED_REGIONS:
            raise TooComplicated
        finite = {text for text in self.finite if text in other}
        finite |= {text for text in other.finite if text in self}
        crossed = [one & two for one in self.regions for two in other.regions]
        return _tidied(frozenset(finite), crossed)

    def __or__(self, other: StringSet) -> StringSet:
        """What either holds."""
        return _tidied(self.finite | other.finite, [*self.regions, *other.regions])

    def __invert__(self) -> StringSet:
        """All other strings."""
        result = StringSet(regions=(Region(excluded=self.finite),))
        for region in self.regions:
            outside = [Region(unlikes=frozenset({like})) for like in region.likes]
            outside += [Region(likes=frozenset({unlike})) for unlike in region.unlikes]
            result &= _tidied(region.excluded, outside)
        return result

    def __bool__(self) -> bool:
        """Whether the set may hold anything."""
        return bool(self.finite or self.regions)

    @property
    def pattern_count(self) -> int:
        """How many patterns decide about a string."""
        return sum(len(region.patterns) for region in self.regions)


NO_STRINGS: Final = StringSet()
ALL_STRINGS: Final = StringSet(regions=(Region(),))


def strings_like(pattern: LikePattern) -> StringSet:
    """The strings of a pattern's form."""
    literal = pattern.literal
    if literal is not None:
        return StringSet(frozenset({literal}))
    return _tidied(frozenset(), [Region(likes=_narrowest(frozenset({pattern})))])


def _order(pattern: LikePattern) -> str:
    return pattern.canonical()[0]


def _narrowest(patterns: frozenset[LikePattern]) -> frozenset[LikePattern]:
    """Patterns that must all match, without those that follow from another."""
    kept = [p for p in sorted(patterns, key=_order) if p != ANYTHING]
    return frozenset(p for p in kept if not any(q != p and p.includes(q) for q in kept))


def _widest(patterns: frozenset[LikePattern]) -> frozenset[LikePattern]:
    """Patterns of which none may match, without those that another one rules out already."""
    kept = sorted(patterns, key=_order)
    return frozenset(p for p in kept if not any(q != p and q.includes(p) for q in kept))


def _tidied(finite: frozenset[str], regions: list[Region]) -> StringSet:
    """The union in its simplest form; raises ``TooComplicated`` beyond the bounds."""
    if len(regions) > MAX_CROSSED_REGIONS:
        raise TooComplicated
    if len(finite) * sum(len(region.patterns) for region in regions) > MAX_MATCHES:
        raise TooComplicated
    # What one region leaves out, another of the same form or a single string may bring in.
    excluded: dict[tuple[frozenset[LikePattern], frozenset[LikePattern]], frozenset[str]] = {}
    for region in regions:
        form = (region.likes, region.unlikes)
        excluded[form] = excluded.get(form, region.excluded) & region.excluded - finite
    merged = [Region(likes, unlikes, left_out) for (likes, unlikes), left_out in excluded.items()]
    kept: list[Region] = []
    for region in sorted(merged, key=_region_order):
        if region.is_surely_empty or any(_contains_region(other, region) for other in kept):
            continue
        kept = [other for other in kept if not _contains_region(region, other)]
        kept.append(region)
    if len(kept) > MAX_REGIONS:
        raise TooComplicated
    alone = frozenset(text for text in finite if not any(text in region for region in kept))
    return StringSet(alone, tuple(kept))


def _contains_region(outer: Region, inner: Region) -> bool:
    """Whether every string of the inner region lies in the outer one; False when in doubt."""
    return (
        all(any(like.includes(other) for other in inner.likes) for like in outer.likes)
        and all(
            any(other.includes(unlike) for other in inner.unlikes)
            or any(unlike.excludes(other) for other in inner.likes)
            for unlike in outer.unlikes
        )
        and not any(text in inner for text in outer.excluded)
    )


def _region_order(region: Region) -> tuple[list[str], list[str], list[str]]:
    """An order that does not depend on hashing."""
    likes = sorted(map(_order, region.likes))
    return likes, sorted(map(_order, region.unlikes)), sorted(region.excluded)
