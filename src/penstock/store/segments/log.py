"""One log: a directory of segments, of which the last is written to.

1. The commit thread alone writes (``commit``, ``drop_trimmed``, ``close``); any thread may read.
2. A commit is written, synced and then published, so a reader never sees a record that is not
   durable.
3. Segments leave from the front, one durable step at a time, so that what a crash leaves is always
   a log without its beginning.

``published`` has what readers see, ``log_reader`` reads it.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Final

import msgspec

from penstock.core.intervals import Interval, Tick
from penstock.store.files import (
    NO_SPACE_ERRORS,
    PRIVATE_DIRECTORY,
    give_back_cache,
    make_directory,
    sync_directory,
)
from penstock.store.interface import Failure, LogBounds, LogName, LogSlice
from penstock.store.orders import Append
from penstock.store.repair.recovery import Verify, recover_segments
from penstock.store.segments.framing import SegmentHeader
from penstock.store.segments.log_account import NO_ACCOUNT, LogAccount
from penstock.store.segments.log_reader import read_log
from penstock.store.segments.passing_cache import PassingCache
from penstock.store.segments.published import PublishedLog
from penstock.store.segments.segment import (
    SEGMENT_OVERHEAD_BYTES,
    SegmentWriter,
    SyncFailed,
    WrittenGroup,
    create_segment,
)
from penstock.store.segments.spares import SparePool

logger = logging.getLogger(__name__)

FIRST_ORDINAL: Final = 1


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
        recovered = recover_segments(
            directory,
            name,
            segment_bytes=segment_bytes,
            verify=verify,
            trimmed_below=trimmed_below,
            account=account,
        )
        self._writer = recovered.writer
        self._published = PublishedLog(name, recovered.segments, trimmed_below, account)
        self._refusal: _Refusal | None = None
        self._notes_only = False
        self._cache = PassingCache()
        self.syncs = 0
        self._published.note_damage(recovered.damage)

    @property
    def end_high(self) -> Tick:
        """Where the next record may start: the end of the log, of what was trimmed or is lost."""
        return self._published.end_high

    @property
    def first_low(self) -> Tick:
        """Nothing at or above this tick was discarded."""
        return self._published.first_low

    def bounds(self) -> LogBounds:
        """What the log holds."""
        return self._published.bounds()

    def lost(self) -> tuple[Interval, ...]:
        """What is known to be damaged or missing."""
        return self._published.lost()

    def missing(self) -> tuple[Interval, ...]:
        """The part of ``lost`` that the log's files do not show, so that the state must say it."""
        return self._published.missing()

    def read(
        self, low: Tick, high: Tick, max_bytes: int, max_records: int = 0
    ) -> LogSlice[memoryview]:
        """The durable records that touch ``[low, high)``."""
        return read_log(self._published, low, high, max_bytes, max_records)

    def trim(self, below: Tick) -> bool:
        """Discard what lies below a tick, as far as it is durable; False if that is nothing."""
        return self._published.trim(below)

    def commit(self, appends: Sequence[Append]) -> list[Failure]:
        """Make records durable, in order; returns the failed ones, with all that follow them."""
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
        """Give back the segments below the trim; the ones that fail wait for the next trim."""
        trimmed = self._published.take_trimmed()
        while trimmed:
            try:
                self._spares.give(trimmed[0].path)
                del trimmed[0]
                sync_directory(self._directory)
            except OSError as error:
                logger.warning("log %r: a trimmed segment stays for now: %s", self.name, error)
                self._published.put_back(trimmed)
                return

    def close(self) -> None:
        """Seal the log, if it is in order, and let go of its file."""
        if self._writer is None:
            return
        if self._refusal is None or self._refusal.retriable:
            try:
                self._writer.seal(self._published.record_high)
            except (OSError, SyncFailed) as error:
                logger.warning("log %r was closed without a seal: %s", self.name, error)
        self._writer.close()
        self._writer = None

    def _write_group(self, appends: Sequence[Append]) -> WrittenGroup:
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
            self._published.publish(group, appends[len(group.placed) - 1].high)
            path = self._published.segments[-1].path
            for passed in self._cache.written(path, group.end, time.monotonic()):
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
        segments = self._published.segments
        last = segments[-1] if segments else None
        header = SegmentHeader(
            log=self.name,
            ordinal=last.header.ordinal + 1 if last else FIRST_ORDINAL,
            identity=secrets.randbits(64),
            base_tick=self._published.record_high,
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
        self._published.add_segment(segment)
        return writer

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
