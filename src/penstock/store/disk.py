"""The store of a real broker: a directory with its logs and its state.

::

    lock               held by the process that has the store open
    state.sqlite3      named values, and what is to be known of the logs
    spare/             trimmed segment files that wait to be used again
    logs/<name>/       the segments of one log; the name is percent-encoded

Orders (``append``, ``set_state``, ``trim``, ``resume_after``) must all come from one thread, the
driver's.  ``read``, ``bounds`` and ``load_state`` may be called from any thread; ``read`` may wait
for the disk.  ``on_commit`` is called from the commit thread, once for each commit.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote, unquote

import msgspec

from penstock.core.clock import SECOND, Instant
from penstock.core.intervals import Tick
from penstock.store.admission import LogFront
from penstock.store.files import PRIVATE_DIRECTORY, PRIVATE_FILE, make_directory, make_private
from penstock.store.group_commit import CommitCounters, GroupCommit
from penstock.store.interface import (
    Commit,
    Failure,
    LogName,
    RecordTooLarge,
    StoreError,
    StoreInUse,
    Token,
)
from penstock.store.logs_by_name import LogsByName
from penstock.store.orders import Append, state_change
from penstock.store.repair.recovery import Verify
from penstock.store.segments.framing import MAX_SEGMENT_BYTES, Chunk, framed_bytes
from penstock.store.segments.log import SegmentLog
from penstock.store.segments.log_account import NO_ACCOUNT, LogAccount
from penstock.store.segments.segment import SEGMENT_OVERHEAD_BYTES, SEGMENT_SUFFIX
from penstock.store.segments.spares import SparePool
from penstock.store.state import StateDatabase, StateFailed

logger = logging.getLogger(__name__)

STATE_FILE: Final = "state.sqlite3"

MAX_DIRECTORY_NAME_BYTES: Final = 255  # NAME_MAX of every file system in use


class StoreOptions(msgspec.Struct, frozen=True):
    """How a disk store behaves; the defaults suit a broker on a local disk."""

    segment_bytes: int = 64 * 1024 * 1024
    """What a segment file takes.  It is also what the smallest log takes, and with it bounded the
    largest record; trimming gives space back in steps of this."""
    max_commit_bytes: int = 8_000_000
    """Without this bound the latency of a commit grows to hundreds of milliseconds under load."""
    max_pending_bytes: int = 64_000_000
    """Eight commits: enough to keep the disk busy, and the bound of the memory that waits."""
    quick_commit_s: float = 0.0005
    """Up to here a commit is worth doing in the caller's thread (``commit``): to wake another one
    and to be woken takes 0.1 to 0.2 ms, and everybody else waits meanwhile."""
    max_spare_segments: int = 2
    """A log that is trimmed as it grows drops about one segment for each that it begins."""
    verify: Verify = "tail"
    """Whether opening reads all of every log, or only the last segment of each."""

    def __post_init__(self) -> None:
        """Refuse what the format of a segment cannot hold."""
        if not SEGMENT_OVERHEAD_BYTES < self.segment_bytes <= MAX_SEGMENT_BYTES:
            raise ValueError(
                f"segment_bytes is {self.segment_bytes}; it must be above "
                f"{SEGMENT_OVERHEAD_BYTES} and at most {MAX_SEGMENT_BYTES}"
            )


class DiskStore(LogsByName[Sequence[Chunk], memoryview]):
    """A store in a directory.

    The chunks of a record are written one behind the other.  They must not change before the
    record's token has come back: they are not copied.
    """

    def __init__(
        self,
        directory: Path,
        on_commit: Callable[[Commit], None],
        options: StoreOptions | None = None,
    ) -> None:
        """Open a store, recovering what an earlier run left, or create one."""
        self._options = options or StoreOptions()
        self._logs_directory = directory / "logs"
        self._logs: dict[LogName, SegmentLog] = {}
        self._fronts: dict[LogName, LogFront] = {}
        with ExitStack() as opened:
            make_private(directory)
            opened.callback(os.close, lock_directory(directory))
            make_directory(self._logs_directory, PRIVATE_DIRECTORY)
            self._state = StateDatabase(
                directory / STATE_FILE, must_exist=holds_segments(self._logs_directory)
            )
            opened.callback(self._state.close)
            self._state.check()
            closed_at = self._state.closed_at()
            _say_how_it_was_left(directory, closed_at, is_new=not self._state.ends())
            self._in_order = False
            opened.callback(self._note_close)
            self._spares = SparePool(
                directory / "spare",
                segment_bytes=self._options.segment_bytes,
                limit=self._options.max_spare_segments,
            )
            opened.callback(self._close_logs)
            self._open_logs(closed=closed_at is not None)
            self._group_commit = GroupCommit(
                self._logs,
                self._state,
                self._spares,
                on_commit,
                max_commit_bytes=self._options.max_commit_bytes,
                max_pending_bytes=self._options.max_pending_bytes,
                quick_commit_s=self._options.quick_commit_s,
            )
            opened.callback(self._group_commit.close)
            self._in_order = True
            self._opened = opened.pop_all()

    @property
    def pending_bytes(self) -> int:
        """How much has been accepted and not yet committed."""
        return self._group_commit.pending_bytes

    @property
    def max_pending_bytes(self) -> int:
        """Above this the store accepts nothing more."""
        return self._options.max_pending_bytes

    @property
    def counters(self) -> CommitCounters:
        """What has been committed since the store was opened."""
        return self._group_commit.counters

    def append(
        self,
        token: Token,
        log: LogName,
        low: Tick,
        high: Tick,
        data: Sequence[Chunk],
        *,
        note: bool = False,
        wake: bool = True,
    ) -> None:
        """Order a record at the end of a log; without ``wake`` it waits for ``commit``.

        A ``note`` is small and says what became of earlier records, so that they can be given back:
        it is taken on a disk that is full for everything else.
        """
        front = self._fronts.get(log) or self._open_log(log, trimmed_below=0)
        front.check(low, high)
        length = sum(map(_bytes_of, data))
        size_bytes = framed_bytes(length)
        room_bytes = self._options.segment_bytes - SEGMENT_OVERHEAD_BYTES
        if size_bytes > room_bytes:
            raise RecordTooLarge(
                f"log {log!r}: a record of {length} bytes does not fit into a segment, which has "
                f"room for {room_bytes}; cut it into several or raise segment_bytes"
            )
        self._group_commit.submit(
            Append(token, log, front.epoch, low, high, data, length, size_bytes, note), wake=wake
        )
        front.accepted_high = high

    def set_state(
        self, token: Token, values: dict[str, bytes | None], *, wake: bool = True
    ) -> None:
        """Order a change of named values in one transaction; None deletes."""
        self._group_commit.submit(state_change(token, values), wake=wake)

    def commit(self) -> Commit | None:
        """See to what was ordered without ``wake``.

        The outcome, if it is soon had in the caller's thread; None if it will be reported.
        """
        commit = self._group_commit.commit_here()
        if commit is None:
            self._group_commit.wake()
        return commit

    def resume_after(self, failure: Failure) -> None:
        """Say that a failure is known, so that later appends to its log are tried again."""
        if failure.log is None:
            return
        self._fronts[failure.log].resume_after(failure, self._logs[failure.log].end_high)

    def trim(self, log: LogName, below: Tick) -> None:
        """Allow everything below a tick to be given back."""
        found = self._logs.get(log)
        if found is not None and found.trim(below):
            self._group_commit.note_trim(log)

    def load_state(self) -> dict[str, bytes]:
        """All named values that are durable."""
        return self._state.load()

    def close(self) -> None:
        """Commit what was accepted, seal the logs, and let go; nothing may be called after it."""
        self._opened.close()

    def __enter__(self) -> Self:
        """Close at the end of a ``with`` block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close, whatever happened."""
        self.close()

    def _open_logs(self, *, closed: bool) -> None:
        """Open what is there, hold it against what the state says, and save what is missing."""
        trims, ends, lost = self._state.trims(), self._state.ends(), self._state.lost()
        found = [unquote(path.name) for path in self._logs_directory.iterdir() if path.is_dir()]
        for name in sorted({*found, *ends}):
            account = LogAccount(ends.get(name, 0), tuple(lost.get(name, ())), closed)
            self._open_log(name, trims.get(name, 0), account)
        missing = {name: log.missing() for name, log in self._logs.items() if log.missing()}
        # From here on it is in use, and not closed in order before that is said again.
        self._state.change({}, {}, lost=missing)
        self._state.mark_closed(None)

    def _note_close(self) -> None:
        """Write down where the logs end, now that they are sealed."""
        if not self._in_order:
            return
        ends = {name: log.end_high for name, log in self._logs.items() if log.end_high}
        try:
            self._state.change({}, {}, ends=ends)
            self._state.mark_closed(time.time_ns())
        except StateFailed as failed:
            logger.warning("the end of the logs is not written down: %s", failed.reason)

    def _open_log(
        self, name: LogName, trimmed_below: Tick, account: LogAccount = NO_ACCOUNT
    ) -> LogFront:
        log = SegmentLog(
            self._logs_directory / directory_name(name),
            name,
            segment_bytes=self._options.segment_bytes,
            spares=self._spares,
            trimmed_below=trimmed_below,
            verify=self._options.verify,
            account=account,
        )
        front = LogFront(name, log.end_high)
        self._logs[name] = log
        self._fronts[name] = front
        return front

    def _close_logs(self) -> None:
        for log in self._logs.values():
            log.close()


def _bytes_of(chunk: Chunk) -> int:
    return chunk.nbytes if isinstance(chunk, memoryview) else len(chunk)


def directory_name(log: LogName) -> str:
    """A log's name as a file name; a leading dot would mean something to the file system."""
    name = quote(log, safe="")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if not log or len(name) > MAX_DIRECTORY_NAME_BYTES:
        raise StoreError(
            f"a log cannot be named {log!r}: its percent-encoded name must have from 1 to "
            f"{MAX_DIRECTORY_NAME_BYTES} characters"
        )
    return name


def holds_segments(logs: Path) -> bool:
    """Whether a directory of logs has anything in it that was ever stored."""
    return any(logs.glob(f"*/*{SEGMENT_SUFFIX}"))


def _say_how_it_was_left(directory: Path, closed_at: Instant | None, *, is_new: bool) -> None:
    """What is known of the last run; an old copy cannot be told from the latest state."""
    if closed_at is not None:
        when = datetime.fromtimestamp(closed_at / SECOND, UTC).isoformat(" ", "seconds")
        logger.info(
            "%s was closed in order on %s. If a broker has run on it since, this is an older "
            "copy, and what was acknowledged since then is not in it",
            directory,
            when,
        )
    elif not is_new:
        logger.info("%s was not closed in order: its logs are recovered", directory)


def lock_directory(directory: Path) -> int:
    """Hold a store's lock until the descriptor is closed, or the process ends."""
    path = directory / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise StoreInUse(
            f"{path.parent} is open in another process; stop that one, or use another directory"
        ) from error
    return descriptor
