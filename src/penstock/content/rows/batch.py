"""A batch: rows of attributes and payloads, as columns.

Batches are what travels from a client's publish buffer to a subscriber's iterator.  They are
immutable and know no ticks, so a pubend can place the same bytes in a stream without touching
them.  A batch that came from the wire keeps its bytes and reads its columns from them only when
somebody asks: a broker that drops no row forwards what it received.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.content.rows.block import (
    Block,
    BlockTooLarge,
    block_size,
    decode_block,
    encode_block,
    read_columns,
    read_payloads,
)
from penstock.content.rows.columns import (
    OFFSET_DTYPE,
    Array,
    AttributeType,
    AttributeValue,
    Buffer,
    Column,
    Mask,
    columns_from_attributes,
    offsets_of,
    sorted_names,
)
from penstock.content.rows.speedups import cut, extent

Row = tuple[Mapping[str, AttributeValue], Buffer]

FEW_ROWS = 64
"""Up to here joining payload slices in Python is quicker than a call into Arrow."""

KEPT_SHARE = 2
"""A run of rows refers to the memory in which the payloads of its batch stand if it has one in so
many of its bytes; a shorter one is copied, or it would hold on to much more than it weighs."""


class Extent(NamedTuple):
    """The largest of everything that a broker limits."""

    columns: int
    name_bytes: int
    value_bytes: int
    payload_bytes: int


class Batch:
    """Immutable rows without ticks."""

    __slots__ = ("__weakref__", "_block", "_columns", "_payloads", "_rows", "_size")

    def __init__(
        self,
        rows: int,
        *,
        columns: tuple[Column, ...] | None = None,
        payloads: tuple[Array, Buffer] | None = None,
        block: Block | None = None,
    ) -> None:
        """Either columns and payloads, or a block to read them from."""
        self._rows = rows
        self._columns = columns
        self._payloads = payloads
        self._block = block
        self._size: int | None = None if block is None else len(block.data)

    @staticmethod
    def from_rows(rows: Sequence[Row]) -> Batch:
        """Build from (attributes, payload) pairs; an attribute that is None is absent.

        Raises ``InvalidAttribute`` for what a message cannot carry and ``BlockTooLarge`` for what
        one batch cannot hold.
        """
        return Batch.from_lists([row[0] for row in rows], [row[1] for row in rows])

    @staticmethod
    def from_lists(
        attributes: Sequence[Mapping[str, AttributeValue]], payloads: Sequence[Buffer]
    ) -> Batch:
        """The same from two lists of the same length."""
        columns = [
            column
            for name, values in _by_name(attributes).items()
            for column in columns_from_attributes(name, values)
        ]
        columns.sort(key=lambda column: (column.name, column.kind))
        return Batch(len(payloads), columns=tuple(columns), payloads=_joined(payloads))

    @staticmethod
    def decode(data: Buffer) -> Batch:
        """View an encoded batch; raises ``MalformedBlock`` if the bytes are not one."""
        block = decode_block(data)
        return Batch(block.rows, block=block)

    @staticmethod
    def of_block(rows: int, data: bytes) -> Batch:
        """View bytes that were made here, and so need no checking."""
        return Batch(rows, block=Block(rows, data))

    def extent(self) -> Extent | None:
        """How far a valid batch goes; None if that takes reading the columns (``validate``)."""
        found = None if self._block is None else extent(self._block.data)
        return None if found is None else Extent(*found)

    def validate(self) -> None:
        """Read everything that is otherwise read late; raises ``MalformedBlock``.

        A broker does this once, where bytes enter the network from a client.
        """
        self.columns  # noqa: B018 - reading is what validates
        self.payloads  # noqa: B018

    def encode(self) -> Buffer:
        """The bytes of this batch; those that arrived, if it came from the wire."""
        if self._block is None:
            data = encode_block(self._rows, self.columns, *self.payloads)
            self._block = Block(self._rows, data)
        return self._block.data

    def __len__(self) -> int:
        """How many rows."""
        return self._rows

    def __repr__(self) -> str:
        """For people: the shape."""
        return f"Batch({self._rows} rows, {[column.name for column in self.columns]})"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The attribute columns, sorted by name and type."""
        if self._columns is None:
            assert self._block is not None
            self._columns = read_columns(self._block)
        return self._columns

    @property
    def payloads(self) -> tuple[Array, Buffer]:
        """Offsets (one more than rows) and the bytes that they point into."""
        if self._payloads is None:
            assert self._block is not None
            self._payloads = read_payloads(self._block)
        return self._payloads

    @property
    def wire_size(self) -> int:
        """How many bytes ``encode`` gives, without encoding."""
        if self._size is None:
            self._size = block_size(self._rows, self.columns, len(self.payloads[1]))
        return self._size

    def attributes(self, row: int) -> dict[str, AttributeValue]:
        """One row's attributes."""
        self._check_row(row)
        found = {}
        for column in self.columns:
            value = column.value(row)
            if value is not None:
                found[column.name] = value
        return found

    def attribute_rows(self) -> list[dict[str, AttributeValue]]:
        """All rows' attributes, at the speed of whole columns."""
        names: list[str] = []
        lists: list[list[Any]] = []
        plain = True
        for column in self.columns:
            plain = plain and column.present is None
            names.append(column.name)
            lists.append(column.values_list())
        if not names:
            return [{} for _ in range(self._rows)]
        if plain:
            return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]
        return [
            {name: value for name, value in zip(names, row, strict=True) if value is not None}
            for row in zip(*lists, strict=True)
        ]

    def payload(self, row: int) -> memoryview:
        """One row's payload, without copying."""
        self._check_row(row)
        offsets, data = self.payloads
        return memoryview(data)[int(offsets[row]) : int(offsets[row + 1])]

    def payload_rows(self) -> list[bytes]:
        """All rows' payloads, copied out."""
        offsets, data = self.payloads
        return cut(data, offsets)

    def take(self, rows: Mask | Array) -> Batch:
        """A batch of the chosen rows: a boolean mask or ascending row indices."""
        if rows.dtype == np.bool_:
            if len(rows) != self._rows:
                raise IndexError(f"a mask of {len(rows)} rows for a batch of {self._rows}")
            indices: Array = np.flatnonzero(rows)
        else:
            indices = rows
        if len(indices) == self._rows:
            return self
        columns = [column.take(indices) for column in self.columns]
        kept = tuple(column for column in columns if column is not None)
        return Batch(len(indices), columns=kept, payloads=self._taken_payloads(indices))

    def slice(self, start: int, stop: int) -> Batch:
        """A batch of the rows ``start`` to ``stop``, exclusive."""
        return self.take(np.arange(start, stop))

    def has_same_rows(self, other: Batch) -> bool:
        """Whether both hold the same rows, whatever their dictionaries; a NaN equals itself."""
        return self is other or (
            len(self) == len(other)
            and self.payload_rows() == other.payload_rows()
            and _held(self) == _held(other)
        )

    def _check_row(self, row: int) -> None:
        if not 0 <= row < self._rows:
            raise IndexError(f"row {row} of a batch of {self._rows} rows")

    def _taken_payloads(self, indices: Array) -> tuple[Array, Buffer]:
        offsets, data = self.payloads
        if not len(indices):
            return offsets_of([]), b""
        first, last = int(indices[0]), int(indices[-1])
        view = memoryview(data)
        if last - first + 1 == len(indices):
            run = offsets[first : last + 2] - offsets[first]
            part = view[int(offsets[first]) : int(offsets[last + 1])]
            held = memoryview(view.obj).nbytes if view.obj is not None else len(view)
            return run, part if KEPT_SHARE * len(part) >= held else bytes(part)
        if len(indices) <= FEW_ROWS:
            bounds = zip(offsets[indices].tolist(), offsets[indices + 1].tolist(), strict=True)
            parts = [view[low:high] for low, high in bounds]
            return offsets_of(parts), b"".join(parts)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        chosen = pa.Array.from_buffers(pa.binary(), self._rows, buffers).take(pa.array(indices))
        _, taken_offsets, taken_data = chosen.buffers()
        narrowed = np.frombuffer(taken_offsets, dtype=OFFSET_DTYPE, count=len(indices) + 1)
        return narrowed, memoryview(taken_data)[: int(narrowed[-1])].cast("B")


def _by_name(
    attributes: Sequence[Mapping[str, AttributeValue]],
) -> dict[str, list[AttributeValue | None]]:
    """The values of each attribute in all rows, with None where a row lacks it, names in order."""
    alike = set(map(len, attributes)) == {len(attributes[0])} if attributes else False
    if alike and set(map(type, attributes)) == {dict}:
        # As a rule all rows have the same attributes, and no code of ours looks at each.
        try:
            return {
                name: list(map(itemgetter(name), attributes))
                for name in sorted_names(attributes[0])
            }
        except KeyError:
            pass
    names = sorted_names(dict.fromkeys(itertools.chain.from_iterable(attributes)))
    return {name: [each.get(name) for each in attributes] for name in names}


def _joined(payloads: Sequence[Buffer]) -> tuple[Array, Buffer]:
    try:
        offsets = offsets_of(payloads)
    except OverflowError as error:
        raise BlockTooLarge(
            f"the payloads are too long together ({error}); publish fewer rows at once"
        ) from None
    data = b"".join(payloads)
    if len(data) != offsets[-1]:
        raise TypeError("a payload's items are wider than a byte; cast its memoryview to bytes")
    return offsets, data


def _held(batch: Batch) -> list[tuple[str, AttributeType, list[AttributeValue | None]]]:
    """The columns that some row has, in a form in which equal bits are equal values."""
    held = []
    for column in batch.columns:
        bits = column.values.view("<i8") if column.kind is AttributeType.FLOAT else column.values
        comparable = Column(
            column.name, column.kind, bits, column.present, column.encoded_dictionary
        )
        values = comparable.values_list()
        if any(value is not None for value in values):
            held.append((column.name, column.kind, values))
    return held
