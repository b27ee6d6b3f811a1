"""Mending a store that no broker has open: what can be read stays, what is lost is written down.

1. A segment in which something is damaged is written anew with its good records.  One that is
   missing, or whose header is damaged, is replaced by an empty one; without its header nothing in
   it can be told from what an earlier use of the file left.
2. What is lost is written to the state before anything is changed, so that readers are told of it.
3. The damaged files are kept, in ``damaged/`` in the store's directory.
4. Damaged entries of the state are dropped; a state that cannot be read, or is missing, is begun
   anew if that is asked for.
5. Trimming gives up everything below a tick, damaged or not.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import msgspec

from penstock.core.intervals import Tick
from penstock.store.disk import STATE_FILE, directory_name, holds_segments, lock_directory
from penstock.store.files import (
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    make_directory,
    sync_directory,
    write_fully,
)
from penstock.store.interface import CorruptState, StoreError
from penstock.store.repair.inspection import LogFindings, SegmentFindings, inspect_log
from penstock.store.segments.framing import (
    SEGMENT_HEADER_BYTES,
    TERMINATOR,
    SegmentHeader,
    checksum,
    encode_record_header,
    encode_segment_header,
)
from penstock.store.segments.log_account import LogAccount
from penstock.store.segments.scan import records_behind
from penstock.store.segments.segment import UNFINISHED_SUFFIX
from penstock.store.segments.window import SegmentWindow
from penstock.store.state import StateDatabase

DAMAGED_DIRECTORY = "damaged"


class StoreFindings(msgspec.Struct):
    """All logs of a store, and what is wrong with its state."""

    logs: list[LogFindings]
    state_problem: str = ""
    damaged_entries: list[tuple[str, str]] = []

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.state_problem and not any(log.all_problems() for log in self.logs)


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Keep brokers away from a store's directory; raises ``StoreInUse`` if one is there."""
    if not (directory / "logs").is_dir():
        raise StoreError(
            f"{directory} is not a broker's data directory: there is no directory 'logs' in it"
        )
    descriptor = lock_directory(directory)
    try:
        yield
    finally:
        os.close(descriptor)


def inspect_store(directory: Path) -> StoreFindings:
    """Read everything."""
    findings = StoreFindings([])
    state: StateDatabase | None = None
    trims, ends, lost, closed = {}, {}, {}, False
    try:
        must_exist = holds_segments(directory / "logs")
        if must_exist or (directory / STATE_FILE).exists():
            state = StateDatabase(directory / STATE_FILE, must_exist=must_exist)
            findings.damaged_entries = state.damaged()
            state.check()
    except (CorruptState, sqlite3.DatabaseError) as error:
        findings.state_problem = str(error)
    if state is not None:
        try:
            if not findings.state_problem:
                trims, ends, closed = state.trims(), state.ends(), state.closed_at() is not None
                lost = state.lost()
        finally:
            state.close()
    there = [unquote(path.name) for path in (directory / "logs").iterdir() if path.is_dir()]
    for name in sorted({*there, *ends}):
        account = LogAccount(ends.get(name, 0), tuple(lost.get(name, ())), closed)
        path = directory / "logs" / directory_name(name)
        below = trims.get(name, 0)
        findings.logs.append(inspect_log(path, trimmed_below=below, account=account))
    return findings


def trim_log(directory: Path, log: str, below: Tick) -> LogFindings:
    """Give up what a log holds below a tick."""
    path = directory / "logs" / directory_name(log)
    state = StateDatabase(directory / STATE_FILE, must_exist=True)
    try:
        state.check()
        if not path.is_dir() and log not in state.ends():
            raise StoreError(f"{directory} has no log {log!r}")
        known = inspect_log(path)
        end = max(known.end, state.ends().get(log, 0))
        if below > end:
            raise StoreError(f"log {log!r} ends at {end}; it cannot be trimmed to {below}")
        below = max(below, state.trims().get(log, 0))
        lost = [(low, high) for low, high in state.lost().get(log, []) if high > below]
        state.change({}, {log: below}, lost={log: lost})
        ends = state.ends()
    finally:
        state.close()
    for segment in known.segments[:-1]:
        if segment.ends_at is None or segment.ends_at > below:
            break
        segment.path.unlink(missing_ok=True)
        sync_directory(path)
    return inspect_log(path, trimmed_below=below, account=LogAccount(ends.get(log, 0)))


def salvage_state(directory: Path, findings: StoreFindings, *, new_state: bool) -> list[str]:
    """Make the state one that can be opened; returns what was done."""
    if not findings.state_problem:
        return []
    path = directory / STATE_FILE
    if new_state:
        kept = _keep_state(directory)
        StateDatabase(path).close()
        where = f"; the old one is in {kept}" if kept else ""
        return [f"state: a new one was begun{where}"]
    if not findings.damaged_entries:
        raise StoreError(f"{findings.state_problem}. To begin a new state, add --new-state")
    kept = _keep_state(directory, copy=True)
    state = StateDatabase(path, must_exist=True)
    try:
        state.drop(findings.damaged_entries)
        state.check()
    except CorruptState as error:
        raise StoreError(f"{error}. To begin a new state, add --new-state") from error
    finally:
        state.close()
    return [
        f"state: {kind} {key!r} was dropped; a copy of the state is in {kept}"
        for kind, key in findings.damaged_entries
    ]


def salvage_log(directory: Path, log: LogFindings) -> list[str]:
    """Make a log one that can be read from end to end; returns what was done."""
    bad = [each for each in log.segments if each.header is None or each.lost]
    if not bad and not log.all_problems():
        return []
    state = StateDatabase(directory / STATE_FILE, must_exist=True)
    try:
        state.change({}, {}, lost={log.name: list(log.lost)})
    finally:
        state.close()
    done = [f"log {log.name!r}: [{low}, {high}) is lost" for low, high in log.lost]
    for segment in bad:
        kept = _keep_segment(directory, log, segment)
        is_last = segment is log.segments[-1]
        if segment.header is None and is_last:
            segment.path.unlink(missing_ok=True)
        else:
            _rewrite(log, segment)
        sync_directory(log.directory)
        where = f"; the old file is {kept}" if kept else ""
        done.append(f"{segment.path} was written anew{where}")
    return done


def _keep_state(directory: Path, *, copy: bool = False) -> Path | None:
    """Move (or copy) the files of the state away."""
    kept = _kept_directory(directory) / f"state-{secrets.token_hex(4)}"
    files = sorted(directory.glob(f"{STATE_FILE}*"))
    if not files:
        return None
    make_directory(kept, PRIVATE_DIRECTORY)
    for file in files:
        if copy:
            shutil.copy2(file, kept / file.name)
        else:
            file.rename(kept / file.name)
    sync_directory(kept)
    sync_directory(directory)
    return kept


def _keep_segment(directory: Path, log: LogFindings, segment: SegmentFindings) -> Path | None:
    """Another name for a damaged file, so that it stays when it is replaced."""
    if not segment.path.exists():
        return None
    kept = _kept_directory(directory) / directory_name(log.name)
    make_directory(kept, PRIVATE_DIRECTORY)
    place = kept / f"{segment.path.name}-{secrets.token_hex(4)}"
    os.link(segment.path, place)
    sync_directory(kept)
    return place


def _kept_directory(directory: Path) -> Path:
    kept = directory / DAMAGED_DIRECTORY
    make_directory(kept, PRIVATE_DIRECTORY)
    return kept


def _rewrite(log: LogFindings, segment: SegmentFindings) -> None:
    """Write a segment with its good records, or an empty one, and put it into its place."""
    identity = secrets.randbits(64)
    header = SegmentHeader(log.name, segment.ordinal, identity, segment.low)
    unfinished = segment.path.with_suffix(UNFINISHED_SUFFIX)
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    try:
        at = _write(descriptor, [encode_segment_header(header)], 0)
        if segment.header is not None:
            at = _copy_records(segment.path, segment.header, descriptor, at, identity)
        _write(descriptor, [TERMINATOR], at)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    unfinished.rename(segment.path)


def _copy_records(
    path: Path, header: SegmentHeader, descriptor: int, at: int, identity: int
) -> int:
    """Copy every good record, each as a commit of its own; returns where they end."""
    with path.open("rb") as file:
        window = SegmentWindow(file.fileno(), header.identity, path.stat().st_size)
        offset = SEGMENT_HEADER_BYTES
        while True:
            record = window.header_at(offset)
            if record is None:
                record = next(records_behind(window, offset), None)
                if record is None:
                    return at
            data = window.data_of(record)
            if data is not None and not record.is_seal:
                head = encode_record_header(
                    at,
                    record.length,
                    0,
                    record.low,
                    record.high,
                    checksum([data]),
                    identity=identity,
                )
                padding = bytes(record.end - record.data_offset - record.length)
                at = _write(descriptor, [head, data, padding], at)
            offset = record.end


def _write(descriptor: int, chunks: list[bytes | memoryview], at: int) -> int:
    written, error = write_fully(descriptor, list(chunks), at)
    if error is not None:
        raise error
    return at + written
