"""Which subscribers get which rows of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from penstock.content.rows.columns import Array

NO_ROWS: Final[Array] = np.zeros(0, np.intp)


class Matches:
    """For each key that gets any row, the ascending indices of its rows.

    Iteration gives ``(key, rows)`` pairs: first the keys that get everything, in the order in which
    they subscribed, then the others.  No pair is built before it is asked for.
    """

    __slots__ = (
        "_all_rows",
        "_bounds",
        "_everything",
        "_keys",
        "_positions",
        "_rows",
        "batch_rows",
    )

    def __init__(
        self,
        batch_rows: int,
        everything: Sequence[int],
        keys: Sequence[int],
        bounds: Sequence[int],
        rows: Array,
    ) -> None:
        """The rows of ``keys[i]`` are ``rows[bounds[i] : bounds[i + 1]]``."""
        self.batch_rows = batch_rows
        self._everything = everything
        self._keys = keys
        self._bounds = bounds
        self._rows = rows
        self._all_rows: Array | None = None
        self._positions: dict[int, int] | None = None

    def __len__(self) -> int:
        """How many keys get any row."""
        return len(self._everything) * bool(self.batch_rows) + len(self._keys)

    def __iter__(self) -> Iterator[tuple[int, Array]]:
        """Every key that gets any row, with its rows."""
        if self.batch_rows:
            for key in self._everything:
                yield key, self._every_row()
        bounds, rows = self._bounds, self._rows
        for at, key in enumerate(self._keys):
            yield key, rows[bounds[at] : bounds[at + 1]]

    def rows_of(self, key: int) -> Array:
        """The rows of one key, empty if it gets none."""
        if self._positions is None:
            self._positions = {key: at for at, key in enumerate(self._keys)}
        at = self._positions.get(key)
        if at is not None:
            return self._rows[self._bounds[at] : self._bounds[at + 1]]
        return self._every_row() if key in self._everything else NO_ROWS

    def _every_row(self) -> Array:
        if self._all_rows is None:
            self._all_rows = np.arange(self.batch_rows)
        return self._all_rows
