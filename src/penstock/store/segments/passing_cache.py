"""How much of what was written to a log stays in the kernel's cache.

Whatever is written goes through the cache, and as a rule it is best left there: whoever comes back
to a backlog, and Spark, read from it.  A log that grows very fast is another matter.  It takes new
memory for every page, which may cost much more than to write to it (ten times as much for a part of
a virtual machine's memory; docs/performance.md), and pushes everything else out.

1. The last ``KEPT_BYTES`` of a log always stay.
2. What leaves this window sooner than ``PASSING_S`` after it was written is given back, so that the
   next pages are those that were just used.  Anything slower is left to the kernel.

The policy takes offsets and times and returns stretches of files.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Final

import msgspec

KEPT_BYTES: Final = 64 << 20
"""Four times what waits for a slow subscriber before it is read for (``session_buffer_bytes``).
With 128 MB who comes back is a tenth quicker, and messages of 1 kB pass a tenth more slowly."""

PASSING_S: Final = 1.0
"""With the window: 64 MB a second.  At that rate the log passes through all that a pubend retains
unless told otherwise (1 GB) in 16 seconds, so that its readers cannot be far behind."""

STEP_BYTES: Final = 4 << 20
"""Given back at a time: few calls, and a multiple of every size of a page."""


class Stretch(msgspec.Struct, frozen=True):
    """A part of a segment file, and when its last byte was written."""

    path: Path
    start: int
    stop: int
    written_at_s: float


class PassingCache:
    """The stretches at the end of one log."""

    __slots__ = ("_kept_bytes", "_path", "_start", "_stretches", "_window_bytes")

    def __init__(self, window_bytes: int = KEPT_BYTES) -> None:
        """Nothing was written."""
        self._window_bytes = window_bytes
        self._stretches: deque[Stretch] = deque()
        self._kept_bytes = 0
        self._path: Path | None = None
        self._start = 0

    def written(self, path: Path, end: int, now_s: float) -> list[Stretch]:
        """A segment was written up to an offset; what is to be given back now."""
        if path != self._path:
            self._path, self._start = path, 0
        stop = end - end % STEP_BYTES
        if stop <= self._start:
            return []
        self._stretches.append(Stretch(path, self._start, stop, now_s))
        self._kept_bytes += stop - self._start
        self._start = stop
        return self._passed(now_s)

    def _passed(self, now_s: float) -> list[Stretch]:
        passed = []
        while self._kept_bytes > self._window_bytes:
            oldest = self._stretches.popleft()
            self._kept_bytes -= oldest.stop - oldest.start
            if now_s - oldest.written_at_s < PASSING_S:
                passed.append(oldest)
        return passed
