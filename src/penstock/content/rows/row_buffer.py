"""Rows that wait to become a batch.

A row is the buffer's own from the moment that it is taken: the caller may change its dictionary.
``offer`` takes a row or leaves the buffer as it was: one that is full, or a row that is unusual.
A ``PlainRowBuffer`` takes any row with ``put``, and what is wrong with it comes out when its batch
is built.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from penstock.content.rows.batch import Batch
from penstock.content.rows.speedups import COMPILED, CompiledRowBuffer

ROW_BYTES: Final = 64
"""What a row is taken to weigh beside its payload until its batch is built and weighed."""


class PlainRowBuffer:
    """Rows as they are.

    Two lists and not one of pairs: the interpreter's garbage collector visits every pair while it
    waits, which takes as long as everything else together.
    """

    __slots__ = ("_full_bytes", "_full_rows", "attributes", "payloads", "weight")

    def __init__(self, full_rows: int, full_bytes: int) -> None:
        """Full with so many rows, or when they weigh so much; the first one always goes in."""
        self.attributes: list[dict[str, Any]] = []
        self.payloads: list[bytes] = []
        self.weight = 0
        self._full_rows = full_rows
        self._full_bytes = full_bytes

    def __len__(self) -> int:
        """How many rows."""
        return len(self.payloads)

    @property
    def is_full(self) -> bool:
        """Whether no other row goes in, however small."""
        return len(self.payloads) >= self._full_rows or self.weight >= self._full_bytes

    def offer(self, attributes: object, payload: object) -> int:
        """Keep a row of plain types; what it weighs, or 0 if it does not go in."""
        if type(payload) is not bytes or type(attributes) is not dict:
            return 0
        weight = len(payload) + ROW_BYTES
        if self.payloads and (
            len(self.payloads) >= self._full_rows or self.weight + weight > self._full_bytes
        ):
            return 0
        return self.put(attributes, payload)

    def put(self, attributes: dict[str, Any], payload: bytes) -> int:
        """Keep a row, whatever it is; what it weighs."""
        weight = len(payload) + ROW_BYTES
        self.attributes.append(attributes.copy())
        self.payloads.append(payload)
        self.weight += weight
        return weight


RowBuffer: TypeAlias = "PlainRowBuffer | CompiledRowBuffer"


def new_row_buffer(full_rows: int, full_bytes: int) -> RowBuffer:
    """The quicker one that is there."""
    if COMPILED:
        return CompiledRowBuffer(full_rows, full_bytes)
    return PlainRowBuffer(full_rows, full_bytes)


def batch_of(rows: CompiledRowBuffer) -> Batch:
    """The batch of rows that were looked at when they were taken."""
    return Batch.of_block(len(rows), rows.block())
