"""All peers' event buffers as one table: the buffers of a group that is too large for machines.

A row for each peer, a column for each event under way.  ``ages`` holds 0 where the peer does not
hold the event, and its age + 1 where it does, so that merging an arriving copy is a maximum;
``seen`` tells whether the peer ever held it.  A column is free again when nobody holds its event
and its receipts were judged.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Ages = NDArray[np.uint8]

AGE_LEVELS: Final = 64
"""More than any age limit that a run of arrays uses."""


class EventTable:
    """Who holds and who has seen which event."""

    def __init__(self, peers: int, columns: int, capacity: int) -> None:
        """Every buffer is empty and has room for ``capacity`` events."""
        self.capacity = capacity
        self.ages: Ages = np.zeros((peers, columns), np.uint8)
        self.seen: NDArray[np.bool_] = np.zeros((peers, columns), np.bool_)
        self.round_of: Integers = np.full(columns, -1, np.int64)
        """In which round a column's event was published; -1 is a free column."""
        self._next_column = 0

    def publish(self, publishers: Integers, round_number: int) -> None:
        """Each of these peers publishes one event."""
        free = np.flatnonzero(self.round_of < 0)
        if len(free) < len(publishers):
            raise OverflowError(
                f"{len(publishers)} events need columns and {len(free)} of "
                f"{len(self.round_of)} are free: the run needs a wider table"
            )
        # Columns are taken round and round, so that their order is that of publication.
        start = np.searchsorted(free, self._next_column)
        columns = np.roll(free, -start)[: len(publishers)]
        self._next_column = int(columns[-1]) + 1 if len(columns) else self._next_column
        self.ages[publishers, columns] = 1
        self.seen[publishers, columns] = True
        self.round_of[columns] = round_number

    def grow_older(self, rows: Integers, age_limit: int) -> Ages:
        """A round has passed for these peers; give what they gossip."""
        held = self.ages[rows]
        held += held > 0
        held[held > age_limit + 1] = 0
        self.ages[rows] = held
        return held

    def merge(self, rows: Integers, arriving: Ages) -> tuple[Integers, Integers]:
        """One gossip for each of these peers; how many copies and new events each had."""
        held, seen = self.ages[rows], self.seen[rows]
        copies = np.count_nonzero(arriving, axis=1)
        accepted = np.where((held > 0) | ~seen, arriving, 0)
        new = np.count_nonzero((accepted > 0) & ~seen, axis=1)
        self.ages[rows] = np.maximum(held, accepted)
        self.seen[rows] = seen | (accepted > 0)
        return copies, new

    def purge(self, rows: Integers) -> tuple[Integers, Integers, Integers]:
        """Drop the oldest where there is no room: the peers that did, how many, their ages' sum."""
        held = self.ages[rows]
        excess = np.count_nonzero(held, axis=1) - self.capacity
        over = excess > 0
        rows, held, excess = rows[over], held[over], excess[over]
        if not len(rows):
            return rows, excess, excess
        at_row, at_column = np.nonzero(held)
        levels = held[at_row, at_column].astype(np.int64)
        counts = np.bincount(at_row * AGE_LEVELS + levels, minlength=len(rows) * AGE_LEVELS)
        # older[r, a]: how many events of row r are older than a.
        by_level = counts.reshape(len(rows), AGE_LEVELS)
        older = by_level[:, ::-1].cumsum(axis=1)[:, ::-1] - by_level
        cutoff = (older < excess[:, None]).argmax(axis=1)
        from_cutoff = excess - older[np.arange(len(rows)), cutoff]
        at_cutoff = levels == cutoff[at_row]
        rank = _rank_within_row(at_row, at_cutoff, len(rows))
        dropped = (levels > cutoff[at_row]) | (at_cutoff & (rank < from_cutoff[at_row]))
        self.ages[rows[at_row[dropped]], at_column[dropped]] = 0
        ages = np.bincount(at_row[dropped], levels[dropped] - 1, len(rows)).astype(np.int64)
        return rows, excess, ages

    def published_in(self, round_number: int) -> Integers:
        """The columns of the events of a round."""
        return np.flatnonzero(self.round_of == round_number)

    def retire(self, up_to_round: int) -> tuple[Integers, Floats]:
        """Free the columns of old events that nobody holds: their rounds and shares received."""
        old = np.flatnonzero((self.round_of >= 0) & (self.round_of <= up_to_round))
        done = old[~self.ages[:, old].any(axis=0)]
        rounds, shares = self.round_of[done], self.seen[:, done].mean(axis=0)
        self.seen[:, done] = False
        self.round_of[done] = -1
        return rounds, shares


def _rank_within_row(at_row: Integers, counted: NDArray[np.bool_], rows: int) -> Integers:
    """For each entry, how many counted entries of its row come before it."""
    before = np.cumsum(counted) - counted
    first = np.searchsorted(at_row, np.arange(rows))
    result: Integers = before - before[first][at_row]
    return result
