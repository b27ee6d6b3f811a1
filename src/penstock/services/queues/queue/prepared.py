"""Rows that a destination queue holds for an alias queue and may not hand out yet.

1. A forwarded row is in doubt from the moment it is stored until the alias queue has decided: it
   may have been forwarded to another destination meanwhile, because this one could not be reached.
2. The destination asks for the decision until it hears it, across crashes of either side.
3. A row that is committed waits for consumers like any other; one that is withdrawn is gone.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TypeAlias

from penstock.core.intervals import Interval, IntervalSet

AliasKey: TypeAlias = tuple[str, str]
"""The broker and the name of an alias queue."""


class Doubt:
    """The rows in doubt, by alias queue and by the alias queue's own numbers."""

    def __init__(self) -> None:
        """Nothing is in doubt."""
        self._pieces: dict[AliasKey, list[tuple[int, int, int]]] = {}
        self.rows = 0

    def add(self, alias: AliasKey, low: int, high: int, position: int) -> None:
        """Rows ``[low, high)`` of the alias queue are stored from ``position`` on."""
        insort(self._pieces.setdefault(alias, []), (low, high, position))
        self.rows += high - low

    def take(self, alias: AliasKey, low: int, high: int) -> list[Interval]:
        """Rows of ``[low, high)`` leave doubt; returns their positions in the queue."""
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
        """The alias queues that owe a decision."""
        return list(self._pieces)

    def intervals(self, alias: AliasKey) -> tuple[Interval, ...]:
        """The alias queue's numbers that are in doubt."""
        return tuple(IntervalSet((low, high) for low, high, _ in self._pieces.get(alias, ())))

    def within(self, alias: AliasKey, wanted: IntervalSet) -> tuple[Interval, ...]:
        """Those of them that are in a set."""
        held = IntervalSet(self.intervals(alias))
        return tuple(part for low, high in wanted for part in held.within(low, high))
