"""The filter of a request on its way to the source.

1. An edge requests "whatever is subscribed here" (``LIVE_FILTER``), since its relay knows what it
   registered.
2. The first relay that must send the request up replaces that by the union of the selectors that
   wait behind the link.  A named filter means the same at every hop, so an answer carries only what
   the requester wants, and nothing for others behind the same links.
3. A union that is too large to be named stays "whatever is subscribed behind the link", which is
   more than needed and never less.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from penstock.content.matching.covering import covers
from penstock.content.matching.index import SelectorIndex
from penstock.content.rows.frame import Frame
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.expressions import Condition, Or
from penstock.content.selectors.parser import parse
from penstock.content.selectors.selector import Selector
from penstock.services.guaranteed.messages import LIVE_FILTER

MAX_UNION_CHARACTERS: Final = 2048
"""Every request repeats its filter, with priority: it may cost about as much as a message."""

MAX_UNION_SELECTORS: Final = 64
"""More selectors are not compared with each other: their union excludes hardly anything."""


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
        # A union nests one level deeper than its widest part; other brokers must parse it.
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


@lru_cache(maxsize=1024)
def _index_of(selector_text: str) -> SelectorIndex:
    index = SelectorIndex()
    index.add(0, parse(selector_text))
    return index


def filtered(selector_text: str, frame: Frame) -> Frame:
    """A frame with only the rows that a selector selects."""
    return frame.select(_index_of(selector_text).match_any(frame.batch))
