"""Reads slices of a log that the commit thread may trim and extend meanwhile.

1. A segment is found by bisecting the ticks at which segments start, a record in it by the sparse
   index and a short walk.
2. Readers hold the lock only to look things up and to open the file, not while they read it.  A
   segment that is trimmed meanwhile may be recycled and overwritten under them; its records then
   fail their checks, the reader sees that the segment has gone, and starts again.
3. Damage is reported to the reader as a lost interval, and logged when it is found.
"""

from __future__ import annotations

import os

import msgspec

from penstock.core.intervals import Tick
from penstock.store.interface import CorruptLog, LogSlice
from penstock.store.repair.recovery import load_contents
from penstock.store.segments.framing import SEGMENT_HEADER_BYTES
from penstock.store.segments.published import PublishedLog
from penstock.store.segments.segment import Segment
from penstock.store.segments.slice_reader import SliceReader


class SegmentPart(msgspec.Struct, frozen=True):
    """A part of a segment to be read through a descriptor of its own."""

    segment: Segment
    descriptor: int
    start: int
    stop: int
    high: Tick
    reaches_end: bool


def read_log(
    log: PublishedLog, low: Tick, high: Tick, max_bytes: int, max_records: int = 0
) -> LogSlice[memoryview]:
    """The durable records that touch ``[low, high)``."""
    while True:
        log_slice = _try_read(log, low, high, max_bytes, max_records)
        if log_slice is not None:
            return log_slice


def _try_read(
    log: PublishedLog, low: Tick, high: Tick, max_bytes: int, max_records: int
) -> LogSlice[memoryview] | None:
    """One attempt to read; None if a segment was dropped meanwhile."""
    with log.lock:
        complete_from = max(low, log.first_low)
        limit = min(high, log.record_high)
        end = min(high, max(log.record_high, log.known_end))
    reader = SliceReader(complete_from, limit, max_bytes, max_records)
    at = complete_from
    while at < limit:
        part = open_part(log, at, limit)
        if part is None:
            return None
        damaged = len(reader.damage)
        try:
            cut = reader.walk(
                part.descriptor,
                part.segment.path,
                part.segment.header.identity,
                start=part.start,
                stop=part.stop,
                end_high=part.high if part.reaches_end else None,
            )
        finally:
            os.close(part.descriptor)
        if len(reader.damage) > damaged and not log.holds(part.segment):
            return None
        if cut is not None:
            return _slice(log, reader, complete_from, cut)
        at = part.high
    return _slice(log, reader, complete_from, max(low, end))


def _slice(
    log: PublishedLog, reader: SliceReader, complete_from: Tick, complete_to: Tick
) -> LogSlice[memoryview]:
    log.note_damage(reader.damage)
    records = reader.taken()
    lost = log.lost_within(complete_from, complete_to)
    if lost:
        for record in records:
            # An operator may have restored what was missing.
            lost.remove(record.low, record.high)
    return LogSlice(records, complete_from, complete_to, tuple(lost))


def open_part(log: PublishedLog, at: Tick, limit: Tick) -> SegmentPart | None:
    """Where to read for ``[at, limit)``; None if that part was dropped meanwhile."""
    with log.lock:
        if not log.segments or at < log.segments[0].header.base_tick:
            return None
        segment = log.segments[log.position(at)]
        descriptor = os.open(segment.path, os.O_RDONLY)
    try:
        if segment.contents is None and not _load(log, segment, descriptor):
            os.close(descriptor)
            return None
    except BaseException:
        os.close(descriptor)
        raise
    with log.lock:
        contents = segment.contents
        assert contents is not None, "it was loaded above, and is never forgotten"
        start = contents.index.start_for(at, SEGMENT_HEADER_BYTES)
        stop = contents.index.stop_for(limit, contents.end)
        reaches_end = stop == contents.end
        return SegmentPart(segment, descriptor, start, stop, segment.high, reaches_end)


def _load(log: PublishedLog, segment: Segment, descriptor: int) -> bool:
    """Index an older segment; False if it was dropped meanwhile."""
    try:
        contents, damage = load_contents(segment, descriptor, verify_data=False)
    except CorruptLog:
        if log.holds(segment):
            raise
        return False
    if damage and not log.holds(segment):
        return False
    log.note_damage(damage)
    with log.lock:
        segment.contents = contents
    return True
