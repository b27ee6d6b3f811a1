"""Looking at the logs of a store that no broker has open, without changing anything in them.

Everything is read: every header, every record, every checksum.  What is found is held against what
the state says of the logs.  ``penstock.store.repair.salvage`` goes by the same findings.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import msgspec

from penstock.core.intervals import Interval, IntervalSet, Tick
from penstock.store.interface import CorruptLog, LogName
from penstock.store.segments.framing import (
    SEGMENT_HEADER_BYTES,
    TERMINATOR,
    SegmentHeader,
    decode_segment_header,
)
from penstock.store.segments.log_account import NO_ACCOUNT, LogAccount
from penstock.store.segments.scan import scan_records
from penstock.store.segments.segment import SEGMENT_SUFFIX, segment_path
from penstock.store.segments.window import SegmentWindow


class SegmentFindings(msgspec.Struct):
    """One segment, as it is or as it is missed.

    ``header`` is None if the file is missing or its header cannot be read.  ``high`` is the end of
    what could be read, ``ends_at`` where the segment must have ended, if that is known.
    """

    path: Path
    ordinal: int
    header: SegmentHeader | None
    low: Tick
    high: Tick
    ends_at: Tick | None
    used_bytes: int = 0
    first_record: Tick | None = None
    problems: list[str] = []
    notes: list[str] = []
    """What is no damage, or not certainly."""
    lost: list[Interval] = []

    def lose(self, interval: Interval, problem: str, known: IntervalSet) -> None:
        """Something cannot be read; it is no news if it was given up before."""
        low, high = interval
        if low < high and not known.covers(low, high):
            self.lost.append(interval)
            self.problems.append(problem)


class LogFindings(msgspec.Struct):
    """One log: its segments in order, and what is lost of it in all."""

    name: LogName
    directory: Path
    account: LogAccount
    trimmed_below: Tick
    segments: list[SegmentFindings]

    @property
    def lost(self) -> IntervalSet:
        """What can no longer be read and was not trimmed."""
        lost = IntervalSet(self.account.lost)
        for segment in self.segments:
            for low, high in segment.lost:
                lost.add(low, high)
        if self._end_is_missing:
            lost.add(self.end, self.account.end)
        lost.remove(0, self.trimmed_below)
        return lost

    @property
    def _end_is_missing(self) -> bool:
        known = IntervalSet(self.account.lost)
        return self.end < self.account.end and not known.covers(self.end, self.account.end)

    @property
    def first(self) -> Tick:
        """Where the log begins: with its first record, or with what is lost before it."""
        lows = [low for low, _ in self.lost]
        lows += [each.first_record for each in self.segments if each.first_record is not None]
        return max(self.trimmed_below, min(lows, default=self.end))

    @property
    def end(self) -> Tick:
        """Where what could be read ends."""
        high = max((segment.high for segment in self.segments), default=0)
        return max(high, self.trimmed_below)

    @property
    def used_bytes(self) -> int:
        """What its records take."""
        return sum(segment.used_bytes for segment in self.segments)

    def all_problems(self) -> list[str]:
        """Everything that is wrong, segment by segment."""
        told = [problem for segment in self.segments for problem in segment.problems]
        if self._end_is_missing:
            when = "when the store was closed" if self.account.closed else "in the state"
            told.append(
                f"the log ends at {self.end}, and {self.account.end} is on record {when}: "
                f"[{self.end}, {self.account.end}) is missing"
            )
        return told


def inspect_log(
    directory: Path, *, trimmed_below: Tick = 0, account: LogAccount = NO_ACCOUNT
) -> LogFindings:
    """Read all of a log."""
    name = unquote(directory.name)
    found = LogFindings(name, directory, account, trimmed_below, [])
    paths = sorted(directory.glob(f"*{SEGMENT_SUFFIX}"))
    headers = {_ordinal(path): _header(path, name) for path in paths}
    if not headers:
        return found
    ordinals = range(min(headers), max(headers) + 1)
    known = IntervalSet([*account.lost, (0, trimmed_below)])
    at: Tick = trimmed_below
    for ordinal in ordinals:
        following = headers.get(ordinal + 1)
        ends_at = following.base_tick if isinstance(following, SegmentHeader) else None
        path = segment_path(directory, ordinal)
        header = headers.get(ordinal)
        segment: SegmentFindings
        if isinstance(header, SegmentHeader):
            is_last = ordinal == ordinals[-1]
            segment = _inspect_segment(path, header, ends_at, known, is_last=is_last)
        else:
            segment = SegmentFindings(path, ordinal, None, at, at, ends_at)
            problem = "the file is missing" if header is None else header
            segment.problems.append(f"{path}: {problem}; everything in it is lost")
            if ends_at is not None and at < ends_at:
                segment.lost.append((at, ends_at))
        found.segments.append(segment)
        at = max(at, segment.high, ends_at or 0)
    return found


def _inspect_segment(
    path: Path,
    header: SegmentHeader,
    ends_at: Tick | None,
    known: IntervalSet,
    *,
    is_last: bool,
) -> SegmentFindings:
    size = path.stat().st_size
    low = header.base_tick
    with path.open("rb") as file:
        window = SegmentWindow(file.fileno(), header.identity, size)
        try:
            scan = scan_records(window, path, header, verify_data=True, all_durable=not is_last)
        except CorruptLog as error:
            found = SegmentFindings(path, header.ordinal, None, low, low, ends_at)
            found.problems.append(str(error))
            if ends_at is not None and low < ends_at:
                found.lost.append((low, ends_at))
            return found
        behind = window.block_at(scan.end)[: len(TERMINATOR)].strip(b"\0")
    found = SegmentFindings(
        path,
        header.ordinal,
        header,
        low,
        scan.high,
        ends_at,
        used_bytes=scan.end - SEGMENT_HEADER_BYTES,
        first_record=scan.index.first_low,
    )
    for each in scan.damage:
        found.lose(
            each.interval,
            f"{path}: damaged at offset {each.offset}: [{each.low}, {each.high}) is lost",
            known,
        )
    if ends_at is not None and scan.high < ends_at:
        found.lose(
            (scan.high, ends_at),
            f"{path}: damaged at offset {scan.end}: [{scan.high}, {ends_at}) is lost",
            known,
        )
    elif is_last and behind:
        found.notes.append(
            f"{path}: a commit at offset {scan.end} is not whole: it was not finished, or was "
            "damaged since; it is cut off when the broker starts"
        )
    return found


def _ordinal(path: Path) -> int:
    return int(path.stem) if path.stem.isdigit() else 0


def _header(path: Path, log: LogName) -> SegmentHeader | str:
    with path.open("rb") as file:
        header = decode_segment_header(file.read(SEGMENT_HEADER_BYTES))
    if isinstance(header, SegmentHeader) and (
        header.log != log or header.ordinal != _ordinal(path)
    ):
        return f"the file is segment {header.ordinal} of the log {header.log!r}"
    return header
