"""Makes the allocator keep freed memory for the next batch.

A broker allocates and frees batches of a megabyte a thousand times a second.  A C library that
returns their memory to the kernel each time causes every page of the next batch to be cleared and
mapped again, which takes longer than all other processing of its bytes.

The GNU library adapts: after it has freed a block that it had mapped separately, it takes blocks up
to that size from its heap, and keeps up to twice that size free at the end of the heap.  So this
module allocates and frees one block that is never used.  Limits that were set by hand
(``mallopt``, ``MALLOC_TRIM_THRESHOLD_``) stay as they are, and other C libraries are not affected.

The allocator belongs to the process, so only commands call this (``penstock serve``, ``penstock
bench``), never the client library.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

SHOWN_BYTES: Final = 16 << 20
"""With this size a process keeps at most 32 MB free: enough for a client's window (16 MB at full
speed) and the data in flight through a broker."""


@cache
def keep_freed_memory() -> None:
    """Raise the allocator's limits; only the first call in a process has an effect."""
    np.empty(SHOWN_BYTES, np.uint8)
