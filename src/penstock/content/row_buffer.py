"""Rows that wait to become a batch.

A row is the buffer's own from the moment that it is added: the caller may change its dictionary.
``append`` may raise ``UnusualRow``; such a row goes into a ``PlainRowBuffer`` of its own, which
takes everything, and what is wrong with it comes out when its batch is built.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from penstock.content.batch import Batch
from penstock.content.speedups import COMPILED, CompiledRowBuffer


class PlainRowBuffer:
    """Rows as they are.

    Two lists and not one of pairs: the interpreter's garbage collector visits every pair while it
    waits, which takes as long as everything else together.
    """

    __slots__ = ("attributes", "payloads")

    def __init__(self) -> None:
        """Empty."""
        self.attributes: list[dict[str, Any]] = []
        self.payloads: list[bytes] = []

    def __len__(self) -> int:
        """How many rows."""
        return len(self.payloads)

    def append(self, attributes: dict[str, Any], payload: bytes) -> None:
        """Keep a row."""
        self.attributes.append(attributes.copy())
        self.payloads.append(payload)


RowBuffer: TypeAlias = "PlainRowBuffer | CompiledRowBuffer"


def new_row_buffer() -> RowBuffer:
    """The quicker one that is there."""
    return CompiledRowBuffer() if COMPILED else PlainRowBuffer()


def batch_of(rows: CompiledRowBuffer) -> Batch:
    """The batch of rows that were looked at when they were added."""
    return Batch.of_block(len(rows), rows.block())
