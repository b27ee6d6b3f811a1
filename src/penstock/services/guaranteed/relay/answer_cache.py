"""Answers that have passed a relay, kept for others that recover from the same outage.

Edges that come back one after another request the same ticks.  What the first was given serves the
next at the speed of the links below the relay, until it has caught up with the first; from then on
their requests are the same, and go up once.

1. An answer is complete for its filter, and so for every filter that it includes.  An answer for
   "whatever is subscribed behind this link" is not kept: what that means changes.
2. Answers of one filter are merged (``content/rows/knowledge``).  When all together exceed the
   bound, the oldest ticks of the filter that was used longest ago are dropped first.
3. Ticks that are final are not kept: a damaged log may be mended.
"""

from __future__ import annotations

from penstock.content.rows.frame import Frame
from penstock.content.rows.knowledge import KnowledgeMap
from penstock.core.intervals import Interval
from penstock.services.guaranteed.messages import LIVE_FILTER
from penstock.services.guaranteed.relay.request_filter import includes


class AnswerCache:
    """A bounded memory of answers, by the filter that they are complete for."""

    __slots__ = ("_by_filter", "_limit_bytes", "weight")

    def __init__(self, limit_bytes: int) -> None:
        """Keep answers of at most ``limit_bytes`` in total; 0 keeps nothing."""
        self._limit_bytes = limit_bytes
        self._by_filter: dict[str, KnowledgeMap] = {}
        """The filter that was used last is the last one."""
        self.weight = 0

    def add(self, filter_text: str, frame: Frame) -> None:
        """Keep an answer for a filter."""
        if filter_text == LIVE_FILTER or frame.final or frame.weight > self._limit_bytes:
            return
        known = self._used(filter_text)
        before = known.weight
        known.insert(frame)
        self.weight += known.weight - before
        while self.weight > self._limit_bytes:
            self._drop_oldest()

    def _used(self, filter_text: str) -> KnowledgeMap:
        known = self._by_filter.pop(filter_text, None) or KnowledgeMap()
        self._by_filter[filter_text] = known
        return known

    def _drop_oldest(self) -> None:
        filter_text = next(iter(self._by_filter))
        known = self._by_filter[filter_text]
        before = known.weight
        known.pop_first()
        self.weight += known.weight - before
        if not len(known):
            del self._by_filter[filter_text]

    def find(self, filter_text: str, interval: Interval) -> tuple[list[Frame], list[Interval]]:
        """What is known of an interval for a filter, in order, and the parts that are not."""
        low, high = interval
        for kept, known in self._by_filter.items():
            if not includes(kept, filter_text):
                continue
            found = known.slice(low, high)
            if found:
                self._used(kept)
                return found, known.gaps(low, high)
        return [], [interval]

    def __len__(self) -> int:
        """How many filters have answers."""
        return len(self._by_filter)
