"""All peers' event buffers as one table, for groups that are too large for machines.

There is a row for each peer and a column for each event in flight.  ``ages`` holds 0 if the peer
does not hold the event, otherwise its age + 1, so that merging an arriving copy is a maximum;
``seen`` holds whether the peer ever held it.  A column is free again when no peer holds its event
and its receipts have been judged.

A gossip is a list of columns and ages, as long as a buffer; shorter ones are padded with a last
column that all peers have seen and none holds.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from penstock.core.clock import Instant

Integers = NDArray[np.int64]
Ages = NDArray[np.uint8]

AGE_LEVELS: Final = 64
"""More than any age limit in a run of arrays."""


class SentGossip(msgspec.Struct, frozen=True):
    """The gossip of some peers: for each a row of columns and of ages + 1."""

    columns: Integers
    ages: Ages


class SpreadEvents(msgspec.Struct, frozen=True):
    """How far some events came."""

    publishers: Integers
    published_at: Integers
    receivers: Integers
    """How many peers have seen each, its publisher included."""


class EventTable:
    """Which peers hold and have seen which event."""

    def __init__(self, peers: int, columns: int, capacity: int) -> None:
        """All buffers are empty and hold up to ``capacity`` events."""
        self.capacity = capacity
        self.ages: Ages = np.zeros((peers, columns + 1), np.uint8)
        self.seen: NDArray[np.bool_] = np.zeros((peers, columns + 1), np.bool_)
        self.seen[:, columns] = True
        self.held: Integers = np.zeros(peers, np.int64)
        """The number of events that each peer holds."""
        self.round_of: Integers = np.full(columns, -1, np.int64)
        """The round in which a column's event was published; -1 for a free column."""
        self._publisher_of: Integers = np.zeros(columns, np.int64)
        self._published_at: Integers = np.zeros(columns, np.int64)
        self._next_column = 0

    def publish(self, publishers: Integers, round_number: int, *, now: Instant = 0) -> None:
        """Each of these peers publishes one event."""
        free = np.flatnonzero(self.round_of < 0)
        if len(free) < len(publishers):
            raise OverflowError(
                f"{len(publishers)} events need columns, but only {len(free)} of "
                f"{len(self.round_of)} are free: the run needs a wider table"
            )
        # Columns are used cyclically, so that their order is that of publication.
        start = np.searchsorted(free, self._next_column)
        columns = np.roll(free, -start)[: len(publishers)]
        self._next_column = int(columns[-1]) + 1
        self.ages[publishers, columns] = 1
        self.seen[publishers, columns] = True
        self.held[publishers] += 1
        self.round_of[columns] = round_number
        self._publisher_of[columns] = publishers
        self._published_at[columns] = now

    def grow_older(self, rows: Integers, age_limit: int) -> SentGossip:
        """Advance these peers by a round; returns their gossip."""
        ages = self.ages[rows]
        ages += ages > 0
        ages[ages > age_limit + 1] = 0
        self.ages[rows] = ages
        at_row, at_column = _entries(ages)
        counts = np.bincount(at_row, minlength=len(rows))
        self.held[rows] = counts
        place = np.arange(len(at_row)) - np.repeat(np.cumsum(counts) - counts, counts)
        columns = np.full((len(rows), self.capacity), len(self.round_of), np.int64)
        columns[at_row, place] = at_column
        sent: Ages = np.zeros((len(rows), self.capacity), np.uint8)
        sent[at_row, place] = ages[at_row, at_column]
        return SentGossip(columns, sent)

    def merge(
        self, rows: Integers, sent: SentGossip, senders: Integers
    ) -> tuple[Integers, Integers]:
        """Merge one gossip for each of these peers; returns the counts of copies and new events."""
        columns, arriving = sent.columns[senders], sent.ages[senders]
        at = rows[:, None]
        held, seen = self.ages[at, columns], self.seen[at, columns]
        accepted = np.where((held > 0) | ~seen, arriving, 0)
        taken = accepted > 0
        new = np.count_nonzero(taken & ~seen, axis=1)
        self.ages[at, columns] = np.maximum(held, accepted)
        self.seen[at, columns] = seen | taken
        self.held[rows] += new
        return np.count_nonzero(arriving, axis=1), new

    def purge(self, rows: Integers) -> tuple[Integers, Integers, Integers]:
        """Drop the oldest events of full buffers: the peers, their drops, the sums of the ages."""
        rows = rows[self.held[rows] > self.capacity]
        excess = self.held[rows] - self.capacity
        if not len(rows):
            return rows, excess, excess
        ages = self.ages[rows]
        at_row, at_column = _entries(ages)
        levels = ages[at_row, at_column].astype(np.int64)
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
        self.held[rows] = self.capacity
        age_sums = np.bincount(at_row[dropped], levels[dropped] - 1, len(rows)).astype(np.int64)
        return rows, excess, age_sums

    def published_in(self, round_number: int) -> Integers:
        """The columns of the events of a round."""
        return np.flatnonzero(self.round_of == round_number)

    def retire(self, up_to_round: int) -> SpreadEvents:
        """Free the columns of old events that no peer holds; returns how far they came."""
        old = np.flatnonzero((self.round_of >= 0) & (self.round_of <= up_to_round))
        done = old[~self.ages[:, old].any(axis=0)]
        spread = self._spread(done)
        self.seen[:, done] = False
        self.round_of[done] = -1
        return spread

    def unfinished(self) -> SpreadEvents:
        """How far the events came whose columns are not free."""
        return self._spread(np.flatnonzero(self.round_of >= 0))

    def _spread(self, columns: Integers) -> SpreadEvents:
        receivers = np.count_nonzero(self.seen[:, columns], axis=0)
        return SpreadEvents(self._publisher_of[columns], self._published_at[columns], receivers)


def _entries(ages: Ages) -> tuple[Integers, Integers]:
    """Rows and columns of the held events, row by row."""
    at_row, at_column = np.divmod(np.flatnonzero(ages.ravel() != 0), ages.shape[1])
    return at_row, at_column


def _rank_within_row(at_row: Integers, counted: NDArray[np.bool_], rows: int) -> Integers:
    """For each entry, how many counted entries of its row come before it."""
    before: Integers = np.cumsum(counted) - counted
    first = np.searchsorted(at_row, np.arange(rows))
    result: Integers = before - before[first][at_row]
    return result
