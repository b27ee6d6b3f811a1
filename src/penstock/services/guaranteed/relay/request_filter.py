"""What a request asks for, as it climbs towards the source.

1. An edge asks for "whatever I subscribe" (``LIVE_FILTER``), since it knows its subscribers.
2. The relay beside it, or the first one that must ask above, names it: the union of the selectors
   that wait behind the link.  Named, the request means the same at every hop, so that an answer
   carries what the one who waits wants and nothing for the others behind the same links.
3. A union that has grown too large to be named is asked for as "whatever is subscribed behind the
   link", which is more than needed and never less.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from penstock.content.matching.covering import covers
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.expressions import Condition, Or
from penstock.content.selectors.parser import parse
from penstock.content.selectors.selector import Selector
from penstock.services.guaranteed.messages import LIVE_FILTER

MAX_UNION_CHARACTERS: Final = 2048
"""A request repeats its filter, and goes with priority: it may cost about as much as a message."""

MAX_UNION_SELECTORS: Final = 64
"""So many are compared with each other; beyond that a union says little less than everything."""


def union_of(selectors: Sequence[str]) -> str:
    """The filter that names what all of these select, or ``LIVE_FILTER`` if that is too long."""
    return _union_of(tuple(selectors))


@lru_cache(maxsize=1024)
def _union_of(selectors: tuple[str, ...]) -> str:
    if not selectors or len(selectors) > MAX_UNION_SELECTORS:
        return LIVE_FILTER
    widest: list[Selector] = []
    for candidate in sorted({parse(text) for text in selectors}, key=lambda s: s.text):
        if any(covers(wide, candidate) for wide in widest):
            continue
        widest = [wide for wide in widest if not covers(candidate, wide)]
        widest.append(candidate)
    conditions = [part for wide in widest for part in _alternatives(wide.condition)]
    union = widest[0] if len(widest) == 1 else Selector.of(Or(tuple(conditions)))
    if len(union.text) > MAX_UNION_CHARACTERS:
        return LIVE_FILTER
    try:
        # A union nests one level deeper than its widest part, and must be read by others.
        return parse(union.text).text
    except SelectorError:
        return LIVE_FILTER


def _alternatives(condition: Condition) -> tuple[Condition, ...]:
    return condition.operands if isinstance(condition, Or) else (condition,)


@lru_cache(maxsize=1024)
def parts_of(filter_text: str) -> tuple[str, ...]:
    """The selectors of which a named filter is the union."""
    return tuple(Selector.of(part).text for part in _alternatives(parse(filter_text).condition))


@lru_cache(maxsize=4096)
def includes(wide: str, narrow: str) -> bool:
    """Whether an answer to ``wide``, asked of the same link, holds everything for ``narrow``."""
    if wide in (narrow, LIVE_FILTER):
        return True
    return narrow != LIVE_FILTER and covers(parse(wide), parse(narrow))
