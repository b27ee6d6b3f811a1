"""One segment file: what readers know of it, and how the commit thread writes to it.

1. A segment comes into being under a temporary name, with its space allocated, its header written
   and synced; only then does it get its name.  A segment that has its name has a good header.
2. Space is allocated beforehand because a write into allocated space needs no change of the file's
   length, which makes its sync cheaper, and because a full disk is then met here and not by a
   record.  If the disk has no room for a whole segment, a smaller one is made, down to what the
   next record needs.
3. A commit group is written behind the last record, over the terminator, and ends in a new
   terminator.  If the write stops short, the whole records among it stay and a terminator is put
   behind them, so the file is well-formed again.
4. If a sync fails, nobody knows which pages reached the disk, and a second sync would report
   success without writing them (the kernel marks failed pages clean).  The log then refuses all
   work; only opening it again, which reads and rewrites the tail, can tell what is there.
"""

from __future__ import annotations

import errno
import logging
import os
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from penstock.core.intervals import Tick
from penstock.store.files import (
    NO_SPACE_ERRORS,
    PRIVATE_FILE,
    sync_directory,
    write_fully,
)
from penstock.store.interface import StoreError
from penstock.store.orders import Append
from penstock.store.segments.framing import (
    PADDINGS,
    RECORD_ALIGNMENT_BYTES,
    RECORD_HEADER_BYTES,
    SEGMENT_HEADER_BYTES,
    TERMINATOR,
    Chunk,
    SegmentHeader,
    checksum,
    encode_record_header,
    encode_segment_header,
)
from penstock.store.segments.spares import SparePool
from penstock.store.segments.sparse_index import SparseIndex

logger = logging.getLogger(__name__)

SEGMENT_SUFFIX: Final = ".segment"
UNFINISHED_SUFFIX: Final = ".unfinished"

CLOSING_BYTES: Final = 2 * RECORD_HEADER_BYTES
"""What every group leaves free behind it: room for a seal and its terminator."""

PAGE_BYTES: Final = 4096
"""What the kernel reads and writes at once, as a rule."""

SEGMENT_OVERHEAD_BYTES: Final = SEGMENT_HEADER_BYTES + CLOSING_BYTES


class SyncFailed(StoreError):
    """It is unknown what reached the disk; the log must be opened again."""


class Contents(msgspec.Struct):
    """Where a segment's durable records are, once that is known."""

    index: SparseIndex
    end: int


class Segment:
    """What readers know of a segment; guarded by the lock of its log.

    ``high`` is the end of the last durable record.  ``contents`` is None for an older segment that
    nobody has read since the log was opened.
    """

    __slots__ = ("capacity", "contents", "header", "high", "path")

    def __init__(
        self,
        path: Path,
        header: SegmentHeader,
        *,
        capacity: int,
        high: Tick,
        contents: Contents | None,
    ) -> None:
        """Describe a file that has its final name."""
        self.path = path
        self.header = header
        self.capacity = capacity
        self.high = high
        self.contents = contents

    @property
    def stored_bytes(self) -> int:
        """The room that its records take (all of it while the contents are not known)."""
        end = self.capacity if self.contents is None else self.contents.end
        return max(end - SEGMENT_HEADER_BYTES, 0)


class WrittenGroup(msgspec.Struct, frozen=True):
    """What one write put into a segment; not durable before the sync."""

    placed: list[tuple[Tick, int]]
    """The whole records that were written, as (low, offset)."""
    end: int
    error: OSError | None


class SegmentWriter:
    """The last segment of a log, as the commit thread sees it."""

    __slots__ = ("_capacity", "_descriptor", "_end", "_identity", "_sealed")

    def __init__(
        self, descriptor: int, identity: int, *, end: int, capacity: int, sealed: bool
    ) -> None:
        """Take over an open file whose next record goes to ``end``."""
        self._descriptor = descriptor
        self._identity = identity
        self._end = end
        self._capacity = capacity
        self._sealed = sealed

    def count_fitting(self, appends: Sequence[Append]) -> int:
        """How many of the appends, from the first on, there is room for."""
        room = self._capacity - CLOSING_BYTES - self._end
        for count, append in enumerate(appends):
            room -= append.size_bytes
            if room < 0:
                return count
        return len(appends)

    def write(self, appends: Sequence[Append]) -> WrittenGroup:
        """Write a commit group; the caller has made sure that it fits."""
        start = offset = self._end
        buffers: list[Chunk] = []
        offsets: list[int] = []
        ends: list[int] = []
        for append in appends:
            length = append.length
            header = encode_record_header(
                offset,
                length,
                offset - start,
                append.low,
                append.high,
                checksum(append.chunks),
                identity=self._identity,
            )
            buffers.append(header)
            buffers.extend(append.chunks)
            if padding := PADDINGS[length % RECORD_ALIGNMENT_BYTES]:
                buffers.append(padding)
            offsets.append(offset)
            offset += append.size_bytes
            ends.append(offset)
        buffers.append(self._terminator(offset))
        written, error = write_fully(self._descriptor, buffers, start)
        count = bisect_right(ends, start + written)
        self._end = ends[count - 1] if count else start
        if error is not None:
            self._terminate()
        self._sealed = self._sealed and not count
        lows = [append.low for append in appends[:count]]
        return WrittenGroup(list(zip(lows, offsets[:count], strict=True)), self._end, error)

    def sync(self) -> None:
        """Make everything written durable."""
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise SyncFailed(
                f"fdatasync failed ({error}), so it is unknown what is on the disk; "
                "check the disk and start the broker again"
            ) from error

    def seal(self, high: Tick) -> None:
        """Say that the log is closed with everything before durable; nothing if it says so."""
        if self._sealed or self._end + CLOSING_BYTES > self._capacity:
            return
        self.sync()  # a seal must not reach the disk before what it vouches for
        header = encode_record_header(
            self._end, 0, 0, high, high, checksum([b""]), identity=self._identity
        )
        _, error = write_fully(self._descriptor, [header, TERMINATOR], self._end)
        if error is not None:
            raise error
        self.sync()
        self._end += len(header)
        self._sealed = True

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)

    def _terminator(self, offset: int) -> bytes:
        """Zeros to the end of a page: one that is written whole need not be read before.

        A recycled file has old content there, and it is not always in the kernel's cache.
        """
        end = offset + len(TERMINATOR)
        return bytes(min(end + -end % PAGE_BYTES, self._capacity) - offset)

    def _terminate(self) -> None:
        _, error = write_fully(self._descriptor, [TERMINATOR], self._end)
        if error is not None:
            raise SyncFailed(
                f"a write stopped short and could not be undone ({error}); "
                "make room and start the broker again"
            ) from error


def segment_path(directory: Path, ordinal: int) -> Path:
    """The name of a segment in its log's directory; names sort like ordinals."""
    return directory / f"{ordinal:020d}{SEGMENT_SUFFIX}"


def create_segment(
    directory: Path,
    header: SegmentHeader,
    *,
    capacity: int,
    needed: int,
    spares: SparePool,
    reserve_bytes: int,
) -> tuple[Segment, SegmentWriter]:
    """Make a new segment of ``capacity`` bytes, of fewer (at least ``needed``) on a full disk.

    Of the disk ``reserve_bytes`` stay free.
    """
    path = segment_path(directory, header.ordinal)
    unfinished = path.with_suffix(UNFINISHED_SUFFIX)
    recycled = needed <= capacity and spares.take(unfinished)
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        if not recycled:
            capacity = _allocate(descriptor, path, capacity, needed, reserve_bytes)
        blocks = [encode_segment_header(header), TERMINATOR]
        _, error = write_fully(descriptor, blocks, 0)
        if error is not None:
            raise error
        os.fdatasync(descriptor)
    except OSError:
        os.close(descriptor)
        unfinished.unlink(missing_ok=True)
        raise
    try:
        unfinished.rename(path)
        sync_directory(directory)
    except OSError as error:
        # The name may or may not be there after a crash, so the segment before must not grow.
        os.close(descriptor)
        raise SyncFailed(
            f"cannot tell whether {path} was made ({error}); check the disk and start the "
            "broker again"
        ) from error
    segment = Segment(
        path,
        header,
        capacity=capacity,
        high=header.base_tick,
        contents=Contents(SparseIndex(), SEGMENT_HEADER_BYTES),
    )
    writer = SegmentWriter(
        descriptor, header.identity, end=SEGMENT_HEADER_BYTES, capacity=capacity, sealed=False
    )
    return segment, writer


def _allocate(descriptor: int, path: Path, capacity: int, needed: int, reserve_bytes: int) -> int:
    """Allocate a file, trying half the size again and again while the disk has no room."""
    wanted = capacity = max(capacity, needed)
    while True:
        try:
            disk = os.fstatvfs(descriptor)
            if disk.f_bavail * disk.f_frsize < capacity + reserve_bytes:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            os.posix_fallocate(descriptor, 0, capacity)
        except OSError as error:
            os.ftruncate(descriptor, 0)
            if error.errno not in NO_SPACE_ERRORS or capacity == needed:
                raise
            capacity = max(needed, capacity // 2)
        else:
            break
    if capacity < wanted:
        logger.warning("the disk is nearly full: %s has %d, not %d bytes", path, capacity, wanted)
    return capacity
