"""The pace of a pubend follows what full links report."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.laws.link_backlog import BURST_BYTES, TARGET_NS
from penstock.services.guaranteed.laws.link_pace import (
    DOUBLE_NS,
    HOLD_NS,
    LARGEST_BURST_BYTES,
    LEAST_SHARE,
    MOST_LINKS,
    MOST_SHARE,
    QUIET_NS,
    LinkPace,
)

RATE = 100_000.0
TARGET = round(RATE * TARGET_NS / SECOND)


def test_there_is_no_pace_without_reports() -> None:
    pace = LinkPace()
    pace.passed(1 << 20, 0)
    assert pace.pace_at(0) is None
    assert pace.next_pass == 0


def test_at_its_target_the_pace_is_the_rate_of_the_link() -> None:
    pace = LinkPace()
    pace.reported("a->b", TARGET, RATE, 0)
    assert pace.pace_at(0) == pytest.approx(RATE)
    pace.passed(1000, 0)
    assert pace.next_pass == pytest.approx(1000 * SECOND / RATE)


@pytest.mark.parametrize(
    ("waiting", "share"), [(0, MOST_SHARE), (TARGET * 100, LEAST_SHARE), (TARGET * 6, 0.5)]
)
def test_a_longer_queue_is_drained_and_a_shorter_one_filled(waiting: int, share: float) -> None:
    pace = LinkPace()
    pace.reported("a->b", waiting, RATE, 0)
    assert pace.pace_at(0) == pytest.approx(share * RATE)


def test_of_several_links_the_slowest_counts_until_it_does_not_report_any_more() -> None:
    pace = LinkPace()
    pace.reported("a->b", TARGET, RATE, 0)
    pace.reported("a->c", TARGET // 2, RATE / 2, 1)
    pace.reported("a->b", TARGET, RATE, 2)
    assert pace.pace_at(2) == pytest.approx(RATE / 2)
    assert pace.slowest is not None
    assert pace.slowest.name == "a->c"
    pace.reported("a->b", TARGET, RATE, 1 + QUIET_NS)
    assert pace.pace_at(1 + QUIET_NS) == pytest.approx(RATE)


def test_without_reports_the_pace_doubles_and_ends_when_it_has_no_effect() -> None:
    pace = LinkPace()
    pace.reported("a->b", TARGET, RATE, 0)
    assert pace.pace_at(QUIET_NS) == pytest.approx(RATE)
    assert pace.pace_at(QUIET_NS + DOUBLE_NS) == pytest.approx(2 * RATE)
    assert not pace.release_unless_needed(1.0, QUIET_NS - 1)
    assert not pace.release_unless_needed(RATE, QUIET_NS + DOUBLE_NS // 2)
    assert pace.release_unless_needed(RATE, QUIET_NS + DOUBLE_NS + 1)
    assert pace.pace_at(2 * SECOND) is None


def test_a_report_without_a_rate_stops_a_pubend_that_has_no_pace_for_a_moment() -> None:
    pace = LinkPace()
    pace.reported("a->b", BURST_BYTES - 1, 0.0, 0)
    assert pace.next_pass == 0
    pace.reported("a->b", BURST_BYTES, 0.0, 5)
    assert pace.next_pass == 5 + HOLD_NS


def test_a_burst_that_the_link_took_stops_a_pubend_only_once() -> None:
    """Frames of 43 kB, of which a fast link has taken all before the next report."""
    pace, stopped = LinkPace(), 0
    for second in range(20):
        pace.reported("a->b", 4 * BURST_BYTES, 0.0, second * SECOND)
        stopped += pace.next_pass > second * SECOND
    assert stopped == 1
    pace.reported("a->b", 6 * BURST_BYTES, 0.0, 20 * SECOND)
    assert pace.next_pass == 20 * SECOND + HOLD_NS


def test_a_large_queue_stops_a_pubend_however_often() -> None:
    """A queue that holds a quarter of a megabyte, and loses the rest."""
    pace = LinkPace()
    for second in range(1, 6):
        pace.reported("a->b", LARGEST_BURST_BYTES, 0.0, second * SECOND)
        assert pace.next_pass == second * SECOND + HOLD_NS


def test_after_a_report_with_a_rate_a_burst_stops_a_pubend_again() -> None:
    pace = LinkPace()
    pace.reported("a->b", BURST_BYTES, 0.0, 0)
    pace.reported("a->b", TARGET, RATE, SECOND)
    assert pace.release_unless_needed(1.0, 2 * SECOND)
    pace.reported("a->b", BURST_BYTES, 0.0, 3 * SECOND)
    assert pace.next_pass == 3 * SECOND + HOLD_NS


def test_a_report_without_a_rate_keeps_the_pace_from_growing() -> None:
    pace = LinkPace()
    pace.reported("a->b", TARGET, RATE, 0)
    later = QUIET_NS + DOUBLE_NS
    pace.reported("a->b", 2 * TARGET, 0.0, later)
    assert pace.pace_at(later + 100 * MILLISECOND) == pytest.approx(2 * RATE)


def test_a_message_that_waits_for_its_turn_does_not_keep_the_pace_from_growing() -> None:
    """A queue that was empty a moment ago is reported for as long as it is followed."""
    pace = LinkPace()
    pace.reported("a->b", TARGET, RATE, 0)
    for number in range(1, 14):
        pace.reported("a->b", 100, 0.0, number * 200 * MILLISECOND)
    assert pace.pace_at(QUIET_NS + DOUBLE_NS) == pytest.approx(2 * RATE)


def test_the_links_that_are_remembered_are_bounded() -> None:
    pace = LinkPace()
    for number in range(MOST_LINKS + 10):
        pace.reported(f"a->{number}", TARGET, RATE + number, number)
    assert pace.is_reported("a->0", MOST_LINKS)
    assert not pace.is_reported(f"a->{MOST_LINKS + 5}", MOST_LINKS)


@pytest.mark.parametrize("delay_s", [0.05, 0.5, 1.5])
@pytest.mark.parametrize("capacity", [8_000.0, 100_000.0, 5e6])
def test_the_queue_of_a_link_settles_at_its_target_whatever_its_distance(
    delay_s: float, capacity: float
) -> None:
    """The queue is that of a fluid; reports are late by the delay of the way up."""
    pace, step_s = LinkPace(), 0.05
    queue, reports, published = capacity, [], []
    for number in range(1200):
        now_s = number * step_s
        now = round(now_s * SECOND)
        while reports and reports[0][0] <= now_s:
            pace.reported("a->b", round(reports.pop(0)[1]), capacity, now)
        sent = pace.pace_at(now) or 2 * capacity
        queue = max(0.0, queue + (sent - capacity) * step_s)
        if number % 4 == 0 and queue > 0:
            reports.append((now_s + delay_s, queue))
        published.append(sent)
    late = published[800:]
    assert sum(late) / len(late) == pytest.approx(capacity, rel=0.05)
    assert max(late) <= 1.15 * capacity


@pytest.mark.parametrize("rate", [1e-300, 1e-3, 1.0, 1e300])
@pytest.mark.parametrize("waiting", [0, 1, 1 << 62])
def test_whatever_a_neighbour_reports_publishing_goes_on(rate: float, waiting: int) -> None:
    pace = LinkPace()
    pace.floor_bytes_per_s = 500.0
    for number in range(20):
        now = number * 200 * MILLISECOND
        pace.reported("a->b", waiting, rate, now)
        if now >= pace.next_pass:
            pace.passed(1000, now)
    assert pace.next_pass <= 20 * 200 * MILLISECOND + 2 * SECOND


def test_what_is_owed_is_paid_at_the_pace_as_it_changes() -> None:
    """A megabyte at 1 kB/s would wait for a quarter of an hour; the link has become fast."""
    pace = LinkPace()
    pace.reported("a->b", 0, 1000.0, 0)
    pace.passed(1_000_000, 0)
    assert pace.next_pass > 10 * SECOND
    pace.reported("a->b", 200_000, 1e6, SECOND)
    assert pace.next_pass == pytest.approx(2 * SECOND, rel=0.05)


def test_while_no_link_reports_the_pace_grows_for_what_is_owed_too() -> None:
    pace = LinkPace()
    pace.reported("a->b", TARGET, RATE, 0)
    pace.passed(1_000_000, 0)
    paid_at = pace.next_pass
    assert paid_at < 8 * SECOND
    # Paid step by step or at once, it is the same.
    for at in range(0, paid_at, 100 * MILLISECOND):
        pace.passed(0, at)
    assert pace.next_pass == pytest.approx(paid_at, abs=1000)


def test_a_pace_that_ends_forgives_what_is_owed() -> None:
    pace = LinkPace()
    pace.reported("a->b", TARGET, RATE, 0)
    pace.passed(100_000_000, 0)
    assert pace.release_unless_needed(0.0, SECOND)
    assert pace.next_pass <= SECOND
