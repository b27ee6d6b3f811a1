"""A relay reports the links on which live data stands."""

from __future__ import annotations

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.laws.link_backlog import BURST_BYTES
from penstock.services.guaranteed.messages import FullLinkReport
from penstock.services.guaranteed.relay.link_reports import KEPT_NS, REPORT_NS, LinkReports

STEP = 50 * MILLISECOND


def measured(reports: LinkReports, waiting: int, now: int, flow: str = "p") -> list[FullLinkReport]:
    flows = {"b": {flow: waiting}} if waiting else {}
    return list(reports.measured(flows, {"p"}, now))


def test_a_burst_is_reported_at_once_and_then_at_intervals() -> None:
    reports = LinkReports("ib")
    assert measured(reports, BURST_BYTES, 0) == [FullLinkReport("p", "ib->b", BURST_BYTES, 0.0)]
    assert measured(reports, BURST_BYTES, STEP) == []
    assert len(measured(reports, BURST_BYTES, REPORT_NS)) == 1


def test_a_message_that_waits_for_its_turn_is_not_reported() -> None:
    reports = LinkReports("ib")
    said = [measured(reports, 500 * (number % 3), number * STEP) for number in range(40)]
    assert not any(said)


def test_a_small_queue_that_stands_is_reported_with_its_rate() -> None:
    reports = LinkReports("ib")
    said = []
    for number in range(40):
        reports.sent("p", "b", 5000)
        said += measured(reports, 2000, number * STEP)
    assert said
    assert said[-1].link == "ib->b"
    assert 95_000 <= said[-1].bytes_per_s <= 105_000


def test_a_source_that_follows_a_link_is_told_of_a_queue_as_soon_as_its_rate_is_known() -> None:
    reports = LinkReports("ib")
    measured(reports, BURST_BYTES, 0)
    measured(reports, 0, STEP)
    said = []
    for number in range(2, 8):
        reports.sent("p", "b", 5000)
        said.append(len(measured(reports, 500, number * STEP)))
    assert said == [0, 0, 0, 0, 1, 0]
    assert measured(reports, 0, SECOND) == []


def test_a_source_that_follows_a_link_is_not_told_of_a_message_that_waits_for_its_turn() -> None:
    reports = LinkReports("ib")
    measured(reports, BURST_BYTES, 0)
    measured(reports, 0, STEP)
    said = [measured(reports, 500 * (number % 3), number * STEP) for number in range(4, 40)]
    assert not any(said)
    measured(reports, 0, SECOND)
    later = 2 * SECOND + KEPT_NS
    measured(reports, 0, later)
    assert not reports.watches_any
    assert measured(reports, 500, later + STEP) == []


def test_flows_that_are_not_live_data_of_a_pubend_are_not_watched() -> None:
    reports = LinkReports("ib")
    assert measured(reports, BURST_BYTES, 0, "p/answers") == []
    assert not reports.watches_any


def test_a_link_that_takes_nothing_is_broken_and_not_reported_any_more() -> None:
    reports = LinkReports("ib")
    said = [bool(measured(reports, BURST_BYTES, number * STEP)) for number in range(200)]
    assert any(said[:80])
    assert not any(said[90:])
