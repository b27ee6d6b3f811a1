"""Which column of a table holds an attribute.

1. The first type in which an attribute occurs gets a column of the attribute's name.  Characters
   that the format does not allow in names become underscores.
2. If that name is taken, ignoring case (by a column that every message has, another attribute, or
   another type of the same one), the column is called ``NAME_TYPE``, and numbered if that is
   taken too: nothing is overwritten, and no message is refused because of its types.
3. If the first column of an attribute with numbers is one of floats, whole numbers go there too, if
   they are exact as floats.
4. A column never changes its meaning.  The table's log keeps the attribute and the type of each.
5. A table has ``MOST_COLUMNS`` of them.  Attributes beyond that, as from a publisher that uses
   names as values, stand in one column ``more_attributes`` as JSON, bytes in base64.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from typing import Any, Final

import msgspec
import pyarrow as pa

from penstock.content.rows.columns import AttributeType
from penstock.spark.schema import (
    MESSAGE_COLUMNS,
    PAYLOAD,
    PUBEND,
    TICK,
    TIME,
    TYPED_VALUE,
    default_schema,
)
from penstock.spark.typed_map import FIELDS

DAY: Final = "day"
"""The partition of a row: the UTC day of its tick."""

MORE: Final = "more_attributes"
"""Holds the attributes that have no column."""

MOST_COLUMNS: Final = 1_000
"""Far more than messages of one kind have, and few enough for readers to list."""

FIXED: Final = pa.schema(
    [
        (PUBEND, pa.string()),
        (TICK, pa.int64()),
        (TIME, pa.timestamp("us", tz="UTC")),
        (PAYLOAD, pa.binary()),
        (MORE, pa.string()),
        (DAY, pa.string()),
    ]
)
"""The columns that every message has."""

ATTRIBUTE_KEY: Final = "penstock.attribute"
KIND_KEY: Final = "penstock.type"
"""Where a column's attribute and type stand in the metadata of its field."""

_KINDS: Final = {
    field.dataType.simpleString(): kind
    for field, kind in zip(TYPED_VALUE.fields, FIELDS, strict=True)
}
"""The type of an attribute by Spark's name of it."""

_NOT_ALLOWED: Final = re.compile(r"[ ,;{}()\n\t=]")


class AttributeColumn(msgspec.Struct, frozen=True):
    """One column, and what it holds."""

    column: str
    attribute: str
    kind: AttributeType

    @property
    def arrow(self) -> pa.Field:
        """The column in Arrow's words, with its meaning."""
        meaning = {ATTRIBUTE_KEY: self.attribute, KIND_KEY: self.kind.name}
        return pa.field(self.column, FIELDS[self.kind][1], metadata=meaning)


class Columns:
    """The columns of a table, which grow as attributes and types appear."""

    def __init__(self, known: Iterable[AttributeColumn] = ()) -> None:
        self._by_meaning = {(each.attribute, each.kind): each for each in known}
        self._taken = {name.casefold() for name in FIXED.names}
        self._taken.update(each.column.casefold() for each in self._by_meaning.values())

    def all(self) -> list[AttributeColumn]:
        """Every column, in the order in which they appeared."""
        return list(self._by_meaning.values())

    @property
    def is_full(self) -> bool:
        """Whether further attributes get no column."""
        return len(self._by_meaning) >= MOST_COLUMNS

    def known(self, attribute: str, kind: AttributeType) -> AttributeColumn | None:
        return self._by_meaning.get((attribute, kind))

    def first_with_numbers(self, attribute: str) -> AttributeColumn | None:
        """The first column of whole numbers or floats of an attribute."""
        for (name, kind), column in self._by_meaning.items():
            if name == attribute and kind in (AttributeType.INT, AttributeType.FLOAT):
                return column
        return None

    def of(self, attribute: str, kind: AttributeType) -> AttributeColumn | None:
        """The column of an attribute of a type, perhaps a new one; None if there are too many."""
        found = self.known(attribute, kind)
        if found is None and not self.is_full:
            found = AttributeColumn(self._free_name(attribute, kind), attribute, kind)
            self.add(found)
        return found

    def add(self, column: AttributeColumn) -> None:
        """Take over a column that was chosen elsewhere."""
        self._by_meaning[column.attribute, column.kind] = column
        self._taken.add(column.column.casefold())

    def _free_name(self, attribute: str, kind: AttributeType) -> str:
        name = _NOT_ALLOWED.sub("_", attribute) or "_"
        typed = f"{name}_{kind.name.lower()}"
        candidates = [name, typed]
        numbered = (f"{typed}_{number}" for number in count(2))
        while True:
            candidate = candidates.pop(0) if candidates else next(numbered)
            if candidate.casefold() not in self._taken:
                return candidate


def columns_of(schema: pa.Schema) -> Columns:
    """The columns of a table's schema that hold attributes."""
    return Columns(found for found in map(_column, schema) if found is not None)


def declare(columns: str, schema: pa.Schema) -> list[pa.Field]:
    """The columns of a declaration (``symbol string, price double``) that a table lacks.

    Raises ``SchemaMismatch`` for an invalid declaration.
    """
    if not columns:
        return []
    known = columns_of(schema)
    have = len(known.all())
    for field in default_schema(columns).fields:
        if field.name not in MESSAGE_COLUMNS:
            known.of(field.name, _KINDS[field.dataType.simpleString()])
    return [each.arrow for each in known.all()[have:]]


def _column(field: Any) -> AttributeColumn | None:
    metadata = field.metadata or {}
    attribute, kind = metadata.get(ATTRIBUTE_KEY.encode()), metadata.get(KIND_KEY.encode())
    if attribute is None or kind is None:
        return None
    return AttributeColumn(field.name, attribute.decode(), AttributeType[kind.decode()])
