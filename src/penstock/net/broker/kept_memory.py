"""Memory that was freed is kept for the next batch.

Batches of a megabyte come and go a thousand times a second.  A C library that returns their memory
to the kernel each time has every page of the next one cleared and mapped again, which takes longer
than everything else that is done with its bytes.

The GNU library learns: once it has freed a block of some size that it had mapped by itself, blocks
up to that size come from its heap, and it keeps up to twice as much free at the end of the heap.
So one block is allocated and freed that is never used.  Limits that were set by hand (``mallopt``,
``MALLOC_TRIM_THRESHOLD_``) stay as they are, and other C libraries are not affected.

The allocator belongs to the process, so only commands call this (``penstock serve``, ``penstock
bench``), never the client library.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

SHOWN_BYTES: Final = 16 << 20
"""A process keeps at most 32 MB free for it, which is what a client's window (16 MB at full speed)
and what is on its way through a broker come to."""


@cache
def keep_freed_memory() -> None:
    """Once in a process is enough."""
    np.empty(SHOWN_BYTES, np.uint8)
