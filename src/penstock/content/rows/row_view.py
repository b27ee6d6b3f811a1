"""One row of a batch, whose attributes are read when they are asked for.

Selectors look at few attributes and often stop at the first; reading a whole row of a batch costs
more than matching it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import AttributeValue, Column


class Row(Protocol):
    """What a selector needs of a row; a dictionary of attributes is one."""

    def get(self, name: str, /) -> AttributeValue | None:
        """The value of an attribute, None if the row lacks it."""
        ...


class RowView:
    """A row of a batch."""

    __slots__ = ("_columns", "_number", "_read")

    def __init__(self, columns: Mapping[str, Sequence[Column]], number: int) -> None:
        """``columns`` has, for each name, a column for each type that occurs."""
        self._columns = columns
        self._number = number
        self._read: dict[str, AttributeValue | None] = {}

    def get(self, name: str, /) -> AttributeValue | None:
        """The value of an attribute, None if the row lacks it."""
        read = self._read
        if name in read:
            return read[name]
        value = None
        for column in self._columns.get(name, ()):
            value = column.value(self._number)
            if value is not None:
                break
        read[name] = value
        return value


def columns_by_name(batch: Batch) -> dict[str, list[Column]]:
    """The columns of each attribute, one for each type that occurs."""
    found: dict[str, list[Column]] = {}
    for column in batch.columns:
        found.setdefault(column.name, []).append(column)
    return found


def rows_of(batch: Batch) -> list[RowView]:
    """A view of every row."""
    columns = columns_by_name(batch)
    return [RowView(columns, number) for number in range(len(batch))]
