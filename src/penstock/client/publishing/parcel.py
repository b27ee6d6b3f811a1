"""Rows in flight to a pubend, and their outcomes.

1. A parcel is what callers filled together.  It is sealed once: its rows become batches.
2. A shipment is one batch of a parcel, with the sequence numbers under which it travels.  Usually
   a parcel is one shipment; rows that cannot travel together are halved until they can, so that a
   single row that no batch can hold is found and refused alone.
3. Every row gets exactly one outcome, from its shipment or because it could not be shipped.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, TypeAlias

from penstock.client.errors import MessageTooLarge, PenstockError
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.receipts import BatchReceipt, Receipt
from penstock.content.rows.batch import Batch
from penstock.content.rows.block import BlockTooLarge
from penstock.content.rows.columns import AttributeValue, InvalidAttribute
from penstock.content.rows.row_buffer import PlainRowBuffer, RowBuffer, batch_of

Outcome: TypeAlias = BatchReceipt | PenstockError | InvalidAttribute


NO_ROWS: Final[RowBuffer] = PlainRowBuffer(0, 0)
"""What a parcel holds that is not filled row by row, or is sealed; no row is added to it."""


class Parcel:
    """Rows that were published together; compares by identity."""

    __slots__ = ("_first_rows", "_outcomes", "_unsettled_rows", "rows", "size")

    def __init__(self, rows: RowBuffer) -> None:
        """To be filled through ``rows``."""
        self.rows = rows
        self.size = 0
        self._unsettled_rows = -1
        self._first_rows: list[int] = []
        self._outcomes: list[Outcome] = []

    def seal(self, size: int) -> None:
        """No row is added any more; ``size`` of them wait for their outcome."""
        self.size = size
        self._unsettled_rows = size
        self.rows = NO_ROWS

    @property
    def settled(self) -> bool:
        """Whether every row has its outcome."""
        return self._unsettled_rows == 0

    def settle(self, first_row: int, count: int, outcome: Outcome) -> bool:
        """Give ``count`` rows from ``first_row`` on an outcome; True if all rows have one now."""
        at = bisect_right(self._first_rows, first_row)
        self._first_rows.insert(at, first_row)
        self._outcomes.insert(at, outcome)
        self._unsettled_rows -= count
        return self._unsettled_rows == 0

    def receipt(self, row: int) -> Receipt:
        """One row's receipt once it has settled, or raises what became of it instead."""
        at = bisect_right(self._first_rows, row) - 1
        outcome = self._outcomes[at]
        if isinstance(outcome, BatchReceipt):
            return outcome.receipt(row - self._first_rows[at])
        raise outcome.with_traceback(None)

    def receipts(self) -> list[BatchReceipt]:
        """All receipts in the order of the rows, or raises the first failure."""
        for outcome in self._outcomes:
            if not isinstance(outcome, BatchReceipt):
                raise outcome.with_traceback(None)
        return [outcome for outcome in self._outcomes if isinstance(outcome, BatchReceipt)]

    @property
    def failure(self) -> PenstockError | InvalidAttribute | None:
        """The first failure, if there is one."""
        for outcome in self._outcomes:
            if not isinstance(outcome, BatchReceipt):
                return outcome
        return None


class Shipment:
    """One batch of a parcel."""

    __slots__ = ("batch", "first_row", "first_sequence", "parcel", "weight")

    def __init__(self, parcel: Parcel, first_row: int, batch: Batch) -> None:
        """Without numbers yet."""
        self.parcel = parcel
        self.first_row = first_row
        self.batch = batch
        self.weight = batch.wire_size
        self.first_sequence = -1

    def settle(self, outcome: Outcome) -> bool:
        """All of its rows have this outcome; True if that settles the parcel."""
        return self.parcel.settle(self.first_row, len(self.batch), outcome)


def ship_rows(parcel: Parcel, limits: PublishLimits) -> list[Shipment]:
    """Seal a parcel of rows; those that cannot be shipped have settled when this returns."""
    rows = parcel.rows
    parcel.seal(len(rows))
    if isinstance(rows, PlainRowBuffer):
        return _ship_rows(parcel, 0, rows.attributes, rows.payloads, limits)
    return _ship_batch(parcel, 0, batch_of(rows), limits)


def ship_batch(parcel: Parcel, batch: Batch, limits: PublishLimits) -> list[Shipment]:
    """The same for rows that are columns already."""
    parcel.seal(len(batch))
    return _ship_batch(parcel, 0, batch, limits)


def _ship_rows(
    parcel: Parcel,
    first_row: int,
    attributes: list[dict[str, AttributeValue]],
    payloads: list[bytes],
    limits: PublishLimits,
) -> list[Shipment]:
    try:
        batch = Batch.from_lists(attributes, payloads)
    except (InvalidAttribute, BlockTooLarge) as error:
        if len(payloads) == 1:
            refusal = error if isinstance(error, InvalidAttribute) else MessageTooLarge(str(error))
            parcel.settle(first_row, 1, refusal)
            return []
        half = len(payloads) // 2
        return [
            *_ship_rows(parcel, first_row, attributes[:half], payloads[:half], limits),
            *_ship_rows(parcel, first_row + half, attributes[half:], payloads[half:], limits),
        ]
    return _ship_batch(parcel, first_row, batch, limits)


def _ship_batch(
    parcel: Parcel, first_row: int, batch: Batch, limits: PublishLimits
) -> list[Shipment]:
    if limits.allow(batch):
        return [Shipment(parcel, first_row, batch)]
    if len(batch) == 1:
        refusal = MessageTooLarge(
            f"a message of {batch.wire_size} bytes is larger than message_bytes "
            f"({limits.message_bytes}); split it, or raise the limit here and at the broker"
        )
        parcel.settle(first_row, 1, refusal)
        return []
    half = len(batch) // 2
    return [
        *_ship_batch(parcel, first_row, batch.slice(0, half), limits),
        *_ship_batch(parcel, first_row + half, batch.slice(half, len(batch)), limits),
    ]
