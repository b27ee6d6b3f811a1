"""Rows that a destination queue has stored for an alias queue and may not deliver yet.

1. A forwarded row is prepared from the moment it is stored until the alias queue has decided: the
   alias queue may have forwarded it to another destination too, if this one was unreachable.
2. The destination asks for the decision until it gets it, across crashes of either side.
3. A committed row waits for consumers like any other; a withdrawn row is settled.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TypeAlias

from penstock.core.intervals import Interval, IntervalSet

AliasKey: TypeAlias = tuple[str, str]
"""The broker and the name of an alias queue."""


class PreparedRows:
    """The prepared rows of one queue, by alias queue and by the numbers that it gave them."""

    def __init__(self) -> None:
        self._pieces: dict[AliasKey, list[tuple[int, int, int]]] = {}
        self.rows = 0

    def add(self, alias: AliasKey, low: int, high: int, position: int) -> None:
        """Add the numbers ``[low, high)`` of an alias queue, stored from ``position`` on."""
        insort(self._pieces.setdefault(alias, []), (low, high, position))
        self.rows += high - low

    def take(self, alias: AliasKey, low: int, high: int) -> list[Interval]:
        """Remove the numbers in ``[low, high)``; returns their positions in the queue."""
        pieces = self._pieces.get(alias)
        if not pieces:
            return []
        index = bisect_left(pieces, (low,))
        if index and pieces[index - 1][1] > low:
            index -= 1
        taken: list[Interval] = []
        left: list[tuple[int, int, int]] = []
        end = index
        while end < len(pieces) and pieces[end][0] < high:
            piece_low, piece_high, position = pieces[end]
            cut_low, cut_high = max(low, piece_low), min(high, piece_high)
            taken.append((position + cut_low - piece_low, position + cut_high - piece_low))
            if piece_low < cut_low:
                left.append((piece_low, cut_low, position))
            if cut_high < piece_high:
                left.append((cut_high, piece_high, position + cut_high - piece_low))
            end += 1
        pieces[index:end] = left
        self.rows -= sum(each_high - each_low for each_low, each_high in taken)
        if not pieces:
            del self._pieces[alias]
        return taken

    def aliases(self) -> list[AliasKey]:
        """The alias queues that have not decided on all their rows."""
        return list(self._pieces)

    def intervals(self, alias: AliasKey) -> tuple[Interval, ...]:
        """The numbers of one alias queue that are prepared."""
        return tuple(IntervalSet((low, high) for low, high, _ in self._pieces.get(alias, ())))

    def within(self, alias: AliasKey, wanted: IntervalSet) -> tuple[Interval, ...]:
        """The numbers of one alias queue that are prepared and in a set."""
        prepared = IntervalSet(self.intervals(alias))
        return tuple(part for low, high in wanted for part in prepared.within(low, high))
