"""Opening the logs that an earlier run left behind, perhaps in the middle of a write.

What a crash can leave, and how it is told apart from damage:

1. A *commit group* is what one commit wrote to one segment.  It is written only after the group
   before it was synced, so at a crash at most one group of a log, the last one, is not on stable
   storage.  Of that group any disk page may be there or missing, in any combination, because the
   disk orders its writes as it likes: a damaged record can be followed by good ones.
2. Every record knows where its group starts (``group_offset``).  Let P be the first offset at which
   no good record stands.  Look for good record headers behind P:

   - none: if P holds a terminator, the log ends there; otherwise the tail is torn at P;
   - only some whose group starts at or before P: P lies in the last, unsynced group; the tail is
     torn at P;
   - one whose group starts behind P: P had been synced before that group was written, so this is
     damage to durable data.  It is lost, said aloud, and the log goes on behind it.

3. A torn tail held nothing that was acknowledged, if it is one.  The file is cut at P, so that
   nothing of the unsynced group can reappear, and allocated again.
4. Good records of the last group before P stay.  After a failed sync they may exist in the page
   cache alone, marked clean, so the group is written once more and synced before anybody reads it.
5. A closed log ends in a seal, which is a group of its own: damage before it is always recognised.
   A log that was killed has no seal, and damage to its very last group cannot be told from a torn
   tail by its files alone (penstock.store.segments.log_account).
6. A segment is begun only after the one before was synced, and says at which tick that one ended.
   So whatever is damaged in any segment but the last is lost: it is found at opening with
   ``verify="all"``, otherwise when the segment is first read.
7. The disk is assumed to write a sector whole or not at all: a torn write never harms what shares
   a sector with it and was there before.
"""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from penstock.core.intervals import IntervalSet, Tick
from penstock.store.files import NO_SPACE_ERRORS, write_fully
from penstock.store.interface import CorruptLog, LogName, StoreError
from penstock.store.segments.framing import (
    SEGMENT_HEADER_BYTES,
    TERMINATOR,
    SegmentHeader,
    decode_segment_header,
)
from penstock.store.segments.log_account import NO_ACCOUNT, LogAccount
from penstock.store.segments.scan import Damage, Scan, records_behind, scan_records
from penstock.store.segments.segment import (
    SEGMENT_SUFFIX,
    UNFINISHED_SUFFIX,
    Contents,
    Segment,
    SegmentWriter,
)
from penstock.store.segments.window import SegmentWindow

logger = logging.getLogger(__name__)

Verify: TypeAlias = Literal["tail", "all"]


class Recovered(msgspec.Struct, frozen=True):
    """What is left of a log, and what of it is damaged as far as it was looked at."""

    segments: list[Segment]
    writer: SegmentWriter | None
    damage: list[Damage]


def recover_segments(
    directory: Path,
    log: LogName,
    *,
    segment_bytes: int,
    verify: Verify,
    trimmed_below: Tick = 0,
    account: LogAccount = NO_ACCOUNT,
) -> Recovered:
    """The segments of a log, the last one repaired and open for writing; none in a new log."""
    for unfinished in sorted(directory.glob(f"*{UNFINISHED_SUFFIX}")):
        unfinished.unlink()
    paths = sorted(directory.glob(f"*{SEGMENT_SUFFIX}"))
    if not paths:
        _say_if_missing(log, trimmed_below, account)
        return Recovered([], None, [])
    headers = [_read_header(path, log) for path in paths]
    for (path, header), (_, following) in pairwise(zip(paths, headers, strict=True)):
        if following.ordinal != header.ordinal + 1:
            raise CorruptLog(
                f"{directory}: the segment behind {path.name} is missing, the next one is number "
                f"{following.ordinal}; restore it from a copy, or go on without it: "
                "penstock log salvage"
            )
    damage: list[Damage] = []
    older = [
        _recover_older(path, header, following, verify, damage)
        for path, header, following in zip(paths, headers, headers[1:], strict=False)
    ]
    last, writer = _recover_last(paths[-1], headers[-1], segment_bytes, account, damage)
    _say_if_missing(log, max(last.high, trimmed_below), account)
    return Recovered([*older, last], writer, damage)


def load_contents(
    segment: Segment, descriptor: int, *, verify_data: bool
) -> tuple[Contents, list[Damage]]:
    """Find the records of a segment that has a successor, and what is damaged in it."""
    window = SegmentWindow(descriptor, segment.header.identity, segment.capacity)
    scan = scan_records(
        window, segment.path, segment.header, verify_data=verify_data, all_durable=True
    )
    damage = scan.damage
    if scan.high < segment.high:
        damage = [*damage, Damage(segment.path, scan.end, scan.high, segment.high)]
    return Contents(scan.index, scan.end), damage


def _read_header(path: Path, log: LogName) -> SegmentHeader:
    with path.open("rb") as file:
        header = decode_segment_header(file.read(SEGMENT_HEADER_BYTES))
    if isinstance(header, str):
        raise CorruptLog(
            f"{path}: offset 0: {header}; restore the file from a copy, or go on without it: "
            "penstock log salvage"
        )
    if header.log != log or f"{header.ordinal:020d}" != path.stem:
        raise CorruptLog(
            f"{path}: offset 0: the file is segment {header.ordinal} of the log {header.log!r}; "
            "it was moved or renamed, so put it back where it was"
        )
    return header


def _recover_older(
    path: Path,
    header: SegmentHeader,
    following: SegmentHeader,
    verify: Verify,
    damage: list[Damage],
) -> Segment:
    segment = Segment(
        path, header, capacity=path.stat().st_size, high=following.base_tick, contents=None
    )
    if verify == "all":
        with path.open("rb") as file:
            segment.contents, found = load_contents(segment, file.fileno(), verify_data=True)
            damage += found
    return segment


def _recover_last(
    path: Path,
    header: SegmentHeader,
    segment_bytes: int,
    account: LogAccount,
    damage: list[Damage],
) -> tuple[Segment, SegmentWriter]:
    with ExitStack() as on_error:
        descriptor = os.open(path, os.O_RDWR)
        on_error.callback(os.close, descriptor)
        size = os.fstat(descriptor).st_size
        window = SegmentWindow(descriptor, header.identity, size)
        scan = scan_records(window, path, header, verify_data=True)
        damage += scan.damage
        torn_bytes = _torn_bytes(window, scan.end)
        try:
            _make_tail_durable(descriptor, path, scan, torn_bytes, segment_bytes, account)
        except OSError as error:
            raise StoreError(f"{path}: cannot recover the end of the log: {error}") from error
        on_error.pop_all()
    capacity = os.fstat(descriptor).st_size
    segment = Segment(
        path, header, capacity=capacity, high=scan.high, contents=Contents(scan.index, scan.end)
    )
    writer = SegmentWriter(
        descriptor, header.identity, end=scan.end, capacity=capacity, sealed=scan.sealed
    )
    return segment, writer


def _say_cut_off(path: Path, scan: Scan, torn_bytes: int, account: LogAccount) -> None:
    """Say no more of the end of a log than what is known of it."""
    if account.closed and scan.high >= account.end:
        what = "they lie behind the end that the log had when the store was closed: nothing is lost"
    elif scan.high < account.end:
        what = "they held what was durable, and it is lost"
    else:
        known = f"everything up to tick {account.end} is there" if account.end else "no end of it"
        what = (
            "they are what a commit left that was not finished when the broker or the machine was "
            "stopped, and then nothing in them was acknowledged; or they were damaged since, and "
            f"then the last messages are lost. Nothing on the disk tells which ({known} is on "
            "record)"
        )
    logger.warning("%s: cut off up to %d bytes at offset %d: %s", path, torn_bytes, scan.end, what)


def _say_if_missing(log: LogName, end: Tick, account: LogAccount) -> None:
    if end < account.end and not IntervalSet(account.lost).covers(end, account.end):
        record = (
            "when the store was closed" if account.closed else "by the last change of the state"
        )
        logger.error(
            "log %r ends at tick %d and ended at %d %s: what was stored at the ticks [%d, %d) is "
            "lost, and messages among it may have been acknowledged; readers are told so. To "
            "restore the log from a copy, stop the broker first",
            log,
            end,
            account.end,
            record,
            end,
            account.end,
        )


def _torn_bytes(window: SegmentWindow, end: int) -> int:
    """How much of a torn commit group lies behind ``end``; 0 if the log ends there in order."""
    torn_to = end
    for record in records_behind(window, end):
        torn_to = max(torn_to, record.end)
    if torn_to == end and window.block_at(end)[: len(TERMINATOR)].strip(b"\0"):
        torn_to = _end_of_content(window, end)
    return torn_to - end


def _end_of_content(window: SegmentWindow, offset: int) -> int:
    """Behind the last byte that is not zero."""
    end = offset
    while block := window.block_at(offset):
        content = block.rstrip(b"\0")
        if content:
            end = offset + len(content)
        offset += len(block)
    return end


def _make_tail_durable(
    descriptor: int,
    path: Path,
    scan: Scan,
    torn_bytes: int,
    segment_bytes: int,
    account: LogAccount,
) -> None:
    if torn_bytes:
        _say_cut_off(path, scan, torn_bytes, account)
        os.ftruncate(descriptor, scan.end)
        try:
            os.posix_fallocate(descriptor, 0, max(segment_bytes, scan.end))
        except OSError as error:
            # Without room behind the last record the next append begins a new segment.
            if error.errno not in NO_SPACE_ERRORS:
                raise
            os.ftruncate(descriptor, scan.end)
    if torn_bytes or not scan.sealed:
        last_group = os.pread(descriptor, scan.end - scan.group_start, scan.group_start)
        _, failure = write_fully(descriptor, [last_group], scan.group_start)
        if failure is not None:
            raise failure
        os.fdatasync(descriptor)
