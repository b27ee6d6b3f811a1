"""What readers see of a log."""

import logging
from pathlib import Path

import pytest

from penstock.store.interface import LogBounds
from penstock.store.segments.framing import SEGMENT_HEADER_BYTES, SegmentHeader
from penstock.store.segments.log_account import NO_ACCOUNT, LogAccount
from penstock.store.segments.published import PublishedLog
from penstock.store.segments.scan import Damage
from penstock.store.segments.segment import Contents, Segment, WrittenGroup
from penstock.store.segments.sparse_index import SparseIndex


def segment(ordinal: int, base_tick: int, high: int) -> Segment:
    return Segment(
        Path(f"{ordinal}.segment"),
        SegmentHeader("prices", ordinal, 0, base_tick),
        capacity=10_000,
        high=high,
        contents=Contents(SparseIndex(), SEGMENT_HEADER_BYTES + 100),
    )


def published(account: LogAccount = NO_ACCOUNT, trimmed_below: int = 0) -> PublishedLog:
    segments = [segment(1, 0, 10), segment(2, 10, 20)]
    return PublishedLog("prices", segments, trimmed_below, account)


def test_bounds_are_those_of_the_segments() -> None:
    assert published().bounds() == LogBounds(0, 20, 200)
    assert published(trimmed_below=5).bounds() == LogBounds(5, 20, 200)
    assert PublishedLog("new", [], 0, NO_ACCOUNT).bounds() == LogBounds(0, 0, 0)


def test_the_end_on_record_that_the_files_do_not_reach_is_missing() -> None:
    log = published(LogAccount(30, ((3, 4),)))
    assert log.end_high == 30
    assert log.lost() == log.missing() == ((3, 4), (20, 30))
    assert log.trim(25)
    assert log.missing() == ((25, 30),)


def test_a_trim_never_reaches_above_the_end() -> None:
    log = published()
    assert log.trim(99)
    assert log.first_low == 20
    assert not log.trim(99)


def test_trimmed_segments_leave_and_may_come_back() -> None:
    log = published()
    log.trim(10)
    trimmed = log.take_trimmed()
    assert [each.header.ordinal for each in trimmed] == [1]
    assert not log.holds(trimmed[0])
    log.put_back(trimmed)
    assert log.holds(trimmed[0])


def test_a_group_becomes_visible_as_a_whole() -> None:
    log = published()
    log.add_segment(segment(3, 20, 20))
    log.publish(WrittenGroup([(20, 5000), (22, 5100)], 5200, None), 25)
    assert log.record_high == 25
    contents = log.segments[-1].contents
    assert contents is not None
    assert contents.end == 5200
    assert log.segments[log.position(22)].header.ordinal == 3


def test_damage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    log = published()
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            log.note_damage([Damage(Path("1.segment"), 4096, 3, 5)])
    assert len(caplog.records) == 1
    assert log.lost() == ((3, 5),)
    assert log.missing() == ()
    assert list(log.lost_within(4, 9)) == [(4, 5)]
