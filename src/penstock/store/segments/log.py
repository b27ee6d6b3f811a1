"""One log: a directory of segments, of which the last is written to.

1. The commit thread alone writes (``commit``, ``drop_trimmed``, ``close``); any thread may read.
2. A commit is written, synced and then published: only under the lock do its records become part
   of what readers see, so a reader never sees a record that is not durable.
3. A segment is found by bisecting the ticks at which segments start, a record in it by the sparse
   index and a short walk.
4. Readers hold the lock only to look things up and to open the file, not while they read it.  A
   segment that is trimmed meanwhile may be recycled and overwritten under them; its records then
   fail their checks, the reader sees that the segment has gone, and starts again.
5. What is damaged is told to whoever reads it as a lost interval, and logged when it is found.
6. Segments leave from the front, one durable step at a time, so that what a crash leaves is always
   a log without its beginning.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from bisect import bisect_right
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec

from penstock.core.intervals import Interval, IntervalSet, Tick
from penstock.store.files import (
    NO_SPACE_ERRORS,
    PRIVATE_DIRECTORY,
    give_back_cache,
    make_directory,
    sync_directory,
)
from penstock.store.interface import CorruptLog, Failure, LogBounds, LogName, LogSlice
from penstock.store.orders import Append
from penstock.store.repair.recovery import Verify, load_contents, recover_segments
from penstock.store.segments.framing import SEGMENT_HEADER_BYTES, SegmentHeader
from penstock.store.segments.log_account import NO_ACCOUNT, LogAccount
from penstock.store.segments.passing_cache import PassingCache
from penstock.store.segments.scan import Damage
from penstock.store.segments.segment import (
    SEGMENT_OVERHEAD_BYTES,
    Group,
    Segment,
    SegmentWriter,
    SyncFailed,
    create_segment,
)
from penstock.store.segments.slice_reader import SliceReader
from penstock.store.segments.spares import SparePool

logger = logging.getLogger(__name__)

FIRST_ORDINAL: Final = 1


class _Extent(msgspec.Struct, frozen=True):
    """A stretch of a segment to be read through a descriptor of its own."""

    segment: Segment
    descriptor: int
    start: int
    stop: int
    high: Tick
    reaches_end: bool


RESERVED_PART: Final = 8
"""Segments leave this part of one segment (8 MB) free on the disk.  A disk that is full to the last
byte stays so for ever: to give anything back takes a few notes, a change of the state, and at the
next start a recovery."""

NOTES_SEGMENTS: Final = 128
"""On a full disk notes go to segments of their own, this part of the reserve each: 64 KB, a few
hundred notes.  They leave half of the reserve to the state."""


class _Refusal(msgspec.Struct, frozen=True):
    """Appends accepted in this epoch or before fail, because one of them did."""

    epoch: int
    reason: str
    retriable: bool


class _GroupNotSynced(Exception):
    """The first ``count`` appends were written, and it is unknown whether they are durable."""

    def __init__(self, count: int, error: SyncFailed) -> None:
        super().__init__(str(error))
        self.count = count
        self.error = error


class SegmentLog:
    """A named log on disk."""

    def __init__(
        self,
        directory: Path,
        name: LogName,
        *,
        segment_bytes: int,
        spares: SparePool,
        trimmed_below: Tick = 0,
        verify: Verify = "tail",
        account: LogAccount = NO_ACCOUNT,
    ) -> None:
        """Recover a log, or prepare one that comes into being with its first record.

        ``account`` is what the state says of the log.
        """
        self.name = name
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._reserve_bytes = segment_bytes // RESERVED_PART
        self._spares = spares
        self._lock = Lock()
        recovered = recover_segments(
            directory,
            name,
            segment_bytes=segment_bytes,
            verify=verify,
            trimmed_below=trimmed_below,
            account=account,
        )
        self._segments, self._writer = recovered.segments, recovered.writer
        self._missing = IntervalSet(account.lost)
        base_tick = self._segments[0].header.base_tick if self._segments else 0
        self._first_low = max(trimmed_below, base_tick)
        self._record_high = self._segments[-1].high if self._segments else 0
        self._known_end = account.end
        missing_from = max(self._record_high, self._first_low)
        if missing_from < account.end:
            self._missing.add(missing_from, account.end)
        self._missing.remove(0, self._first_low)
        self._lost = IntervalSet(self._missing)
        self._refusal: _Refusal | None = None
        self._notes_only = False
        self._cache = PassingCache()
        self.syncs = 0
        self._note_damage(recovered.damage)

    @property
    def end_high(self) -> Tick:
        """Where the next record may start: the end of the log, of what was trimmed or is lost."""
        return max(self._record_high, self._first_low, self._known_end)

    @property
    def first_low(self) -> Tick:
        """Nothing at or above this tick was discarded."""
        return self._first_low

    def bounds(self) -> LogBounds:
        """What the log holds."""
        with self._lock:
            stored_bytes = sum(segment.stored_bytes for segment in self._segments)
            return LogBounds(self._first_low, self.end_high, stored_bytes)

    def lost(self) -> tuple[Interval, ...]:
        """What is known to be damaged or missing."""
        with self._lock:
            return tuple(self._lost)

    def missing(self) -> tuple[Interval, ...]:
        """What of that the log's own files do not show, so that the state has to say it."""
        with self._lock:
            return tuple(self._missing)

    def _note_damage(self, damage: Sequence[Damage]) -> None:
        """Remember what is lost, and log what was not known before."""
        for each in damage:
            with self._lock:
                known = self._lost.covers(each.low, each.high)
                self._lost.add(each.low, each.high)
            if not known:
                logger.error(
                    "log %r: %s is damaged at offset %d: the ticks [%d, %d) are lost; readers are "
                    "told so and go on behind them. Restore the file from a copy while the broker "
                    "is stopped, or see penstock log check",
                    self.name,
                    each.path,
                    each.offset,
                    each.low,
                    each.high,
                )

    def trim(self, below: Tick) -> bool:
        """Discard what lies below a tick, as far as it is durable; whether that was anything."""
        with self._lock:
            below = min(below, max(self._record_high, self._known_end))
            if below <= self._first_low:
                return False
            self._first_low = below
            self._lost.remove(0, below)
            self._missing.remove(0, below)
            return True

    def commit(self, appends: Sequence[Append]) -> list[Failure]:
        """Make records durable, in order; those that failed, and with them all behind them."""
        refused = self._count_refused(appends)
        failures = self._failures(appends[:refused])
        rest = appends[refused:]
        while rest:
            error: Exception | None
            try:
                group = self._write_group(rest)
            except _GroupNotSynced as failed:
                # Their outcome is unknown; what follows was not written.
                self._refuse(rest[-1].epoch, failed.error)
                unsure, rest = rest[: failed.count], rest[failed.count :]
                failures += self._failures(unsure, uncertain=True)
                return failures + self._failures(rest)
            except (OSError, SyncFailed) as failed:
                error = failed
            else:
                rest = rest[len(group.placed) :]
                error = group.error
            if error is not None and rest:
                self._refuse(rest[-1].epoch, error)
                return failures + self._failures(rest)
        return failures

    def drop_trimmed(self) -> None:
        """Give back the segments below the trim; those that resist wait for the next trim."""
        with self._lock:
            keep_from = self._position(self._first_low)
            trimmed = self._segments[:keep_from]
            del self._segments[:keep_from]
        while trimmed:
            try:
                self._spares.give(trimmed[0].path)
                del trimmed[0]
                sync_directory(self._directory)
            except OSError as error:
                logger.warning("log %r: a trimmed segment stays for now: %s", self.name, error)
                with self._lock:
                    self._segments[:0] = trimmed
                return

    def close(self) -> None:
        """Seal the log, if it is in order, and let go of its file."""
        if self._writer is None:
            return
        if self._refusal is None or self._refusal.retriable:
            try:
                self._writer.seal(self._record_high)
            except (OSError, SyncFailed) as error:
                logger.warning("log %r was closed without a seal: %s", self.name, error)
        self._writer.close()
        self._writer = None

    def read(
        self, low: Tick, high: Tick, max_bytes: int, max_records: int = 0
    ) -> LogSlice[memoryview]:
        """The durable records that touch ``[low, high)``."""
        while True:
            log_slice = self._try_read(low, high, max_bytes, max_records)
            if log_slice is not None:
                return log_slice

    def _write_group(self, appends: Sequence[Append]) -> Group:
        """Write, sync and publish as many appends as go into one segment."""
        writer = self._writer
        fitting = self._count_fitting(appends)
        if writer is None or fitting == 0:
            writer = self._begin_segment(appends[0])
            fitting = self._count_fitting(appends)
        try:
            group = writer.write(appends[:fitting])
        except SyncFailed as error:
            raise _GroupNotSynced(fitting, error) from error
        if group.placed:
            self.syncs += 1
            try:
                writer.sync()
            except SyncFailed as error:
                raise _GroupNotSynced(len(group.placed), error) from error
            self._publish(group, appends[len(group.placed) - 1].high)
            for passed in self._cache.written(self._segments[-1].path, group.end, time.monotonic()):
                give_back_cache(passed.path, passed.start, passed.stop)
        return group

    def _count_fitting(self, appends: Sequence[Append]) -> int:
        if self._writer is None:
            return 0
        if self._notes_only:
            appends = list(takewhile(lambda append: append.note, appends))
        return self._writer.count_fitting(appends)

    def _begin_segment(self, first: Append) -> SegmentWriter:
        """Begin a segment; on a full disk, a small one for notes if ``first`` is one."""
        try:
            return self._make_segment(first, self._segment_bytes, self._reserve_bytes)
        except OSError as error:
            if not first.note or error.errno not in NO_SPACE_ERRORS:
                raise
            notes_bytes = self._reserve_bytes // NOTES_SEGMENTS
            writer = self._make_segment(first, notes_bytes, self._reserve_bytes // 2)
            self._notes_only = True
            return writer

    def _make_segment(self, first: Append, capacity: int, reserve_bytes: int) -> SegmentWriter:
        last = self._segments[-1] if self._segments else None
        header = SegmentHeader(
            log=self.name,
            ordinal=last.header.ordinal + 1 if last else FIRST_ORDINAL,
            identity=secrets.randbits(64),
            base_tick=self._record_high,
        )
        make_directory(self._directory, PRIVATE_DIRECTORY)
        segment, writer = create_segment(
            self._directory,
            header,
            capacity=capacity,
            needed=SEGMENT_OVERHEAD_BYTES + first.size_bytes,
            spares=self._spares,
            reserve_bytes=reserve_bytes,
        )
        self._notes_only = False
        if self._writer is not None:
            self._writer.close()
        self._writer = writer
        with self._lock:
            self._segments.append(segment)
        return writer

    def _publish(self, group: Group, high: Tick) -> None:
        with self._lock:
            segment = self._segments[-1]
            contents = segment.contents
            assert contents is not None, "the last segment was scanned or is new"
            for low, offset in group.placed:
                contents.index.note(low, offset)
            contents.end = group.end
            segment.high = self._record_high = high

    def _count_refused(self, appends: Sequence[Append]) -> int:
        refusal = self._refusal
        if refusal is None:
            return 0
        if not refusal.retriable:
            return len(appends)
        return sum(append.epoch <= refusal.epoch for append in appends)

    def _refuse(self, epoch: int, error: Exception) -> None:
        reason = f"log {self.name!r}: {error}"
        self._refusal = _Refusal(epoch, reason, retriable=isinstance(error, OSError))

    def _failures(self, appends: Sequence[Append], *, uncertain: bool = False) -> list[Failure]:
        refusal = self._refusal
        if refusal is None:
            return []
        reason, retriable = refusal.reason, refusal.retriable
        return [
            Failure(append.token, self.name, reason, retriable, append.epoch, uncertain)
            for append in appends
        ]

    def _try_read(
        self, low: Tick, high: Tick, max_bytes: int, max_records: int
    ) -> LogSlice[memoryview] | None:
        """One attempt to read; None if a segment was dropped meanwhile."""
        with self._lock:
            complete_from = max(low, self._first_low)
            limit = min(high, self._record_high)
            end = min(high, max(self._record_high, self._known_end))
        reader = SliceReader(complete_from, limit, max_bytes, max_records)
        at = complete_from
        while at < limit:
            extent = self._open_extent(at, limit)
            if extent is None:
                return None
            damaged = len(reader.damage)
            try:
                cut = reader.walk(
                    extent.descriptor,
                    extent.segment.path,
                    extent.segment.header.identity,
                    start=extent.start,
                    stop=extent.stop,
                    end_high=extent.high if extent.reaches_end else None,
                )
            finally:
                os.close(extent.descriptor)
            if len(reader.damage) > damaged and not self._holds(extent.segment):
                return None
            if cut is not None:
                return self._slice(reader, complete_from, cut)
            at = extent.high
        return self._slice(reader, complete_from, max(low, end))

    def _slice(
        self, reader: SliceReader, complete_from: Tick, complete_to: Tick
    ) -> LogSlice[memoryview]:
        self._note_damage(reader.damage)
        records = reader.taken()
        if not self._lost:
            return LogSlice(records, complete_from, complete_to)
        with self._lock:
            lost = IntervalSet(self._lost.within(complete_from, complete_to))
        for record in records:
            # An operator may have restored what was missing.
            lost.remove(record.low, record.high)
        return LogSlice(records, complete_from, complete_to, tuple(lost))

    def _open_extent(self, at: Tick, limit: Tick) -> _Extent | None:
        """Where to read for ``[at, limit)``; None if that part was dropped meanwhile."""
        with self._lock:
            if not self._segments or at < self._segments[0].header.base_tick:
                return None
            segment = self._segments[self._position(at)]
            descriptor = os.open(segment.path, os.O_RDONLY)
        try:
            if segment.contents is None and not self._load(segment, descriptor):
                os.close(descriptor)
                return None
        except BaseException:
            os.close(descriptor)
            raise
        with self._lock:
            contents = segment.contents
            assert contents is not None, "it was loaded above, and is never forgotten"
            start = contents.index.start_for(at, SEGMENT_HEADER_BYTES)
            stop = contents.index.stop_for(limit, contents.end)
            reaches_end = stop == contents.end
            return _Extent(segment, descriptor, start, stop, segment.high, reaches_end)

    def _load(self, segment: Segment, descriptor: int) -> bool:
        """Index an older segment; False if it was dropped meanwhile."""
        try:
            contents, damage = load_contents(segment, descriptor, verify_data=False)
        except CorruptLog:
            if self._holds(segment):
                raise
            return False
        if damage and not self._holds(segment):
            return False
        self._note_damage(damage)
        with self._lock:
            segment.contents = contents
        return True

    def _holds(self, segment: Segment) -> bool:
        with self._lock:
            return segment in self._segments

    def _position(self, tick: Tick) -> int:
        """Which segment holds a tick, at or above the first one's start (the lock is held)."""
        return max(bisect_right(self._segments, tick, key=_base_tick) - 1, 0)


def _base_tick(segment: Segment) -> Tick:
    return segment.header.base_tick
