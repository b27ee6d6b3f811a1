"""The bounds of a publisher, and the reason for each default."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND

MAX_BATCH_ROWS: Final = 4096
"""Larger batches are not faster, and the receipt of the first row comes later."""

BUSY_BATCHES: Final = 4
"""With this many batches in flight the next one waits for its turn anyway, so a row waits for more
rows.  With fewer in flight it leaves at once."""

BUSY_TIMES: Final = 8
"""How many times as many rows a batch has then.  What a broker does for a batch hardly depends on
its rows, so that a message costs it much less (benchmarks.single_messages tells how much)."""

Rows = Annotated[int, msgspec.Meta(ge=1, le=MAX_BATCH_ROWS)]
Positive = Annotated[int, msgspec.Meta(gt=0)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]


class PublishLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much a publisher gathers, sends and holds."""

    batch_rows: Rows = 512
    """Rows that are gathered into one batch: columns are nearly as fast as they get from here on.
    While ``BUSY_BATCHES`` are in flight, ``BUSY_TIMES`` as many."""

    batch_bytes: Positive = 1 << 20
    """The same in bytes; keeps one batch well below what a disk syncs in a millisecond or two."""

    message_bytes: Positive = 16 << 20
    """A single larger message is refused here: a broker would close the connection over it."""

    window_bytes: Positive = 8 << 20
    """Bytes without a receipt that the client holds; beyond, publishing waits.  It covers a round
    trip with an fsync (10 ms) at 800 MB/s, which is more than a disk writes."""

    linger_ns: NotNegative = 2 * MILLISECOND
    """How long a row waits for more rows while ``BUSY_BATCHES`` have no receipt yet."""

    def rows_at(self, batches_on_their_way: int) -> int:
        """How many rows the next batch has at most."""
        if batches_on_their_way < BUSY_BATCHES:
            return self.batch_rows
        return min(MAX_BATCH_ROWS, BUSY_TIMES * self.batch_rows)

    def allow(self, batch: Batch) -> bool:
        """Whether a batch may travel as it is."""
        if len(batch) == 1:
            return batch.wire_size <= self.message_bytes
        return len(batch) <= MAX_BATCH_ROWS and batch.wire_size <= self.batch_bytes
