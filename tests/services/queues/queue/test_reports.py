"""Which reports are due."""

from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.services.queues.messages import Monitor
from penstock.services.queues.queue.reports import MOST_REPORTS, SHORTEST_PERIOD, Reports
from penstock.services.queues.queue.senders import AliasSender

HOME = AliasSender("home", "orders")


def monitor(iteration, every_ns=0, times=0, source="home"):
    return Monitor(source, "b", "orders", "work", iteration, every_ns, times)


def test_a_question_is_answered_at_once_and_only_once():
    reports = Reports()
    assert reports.asked(monitor(3), 0) == [(HOME, 3)]
    assert reports.next_deadline() is None
    assert len(reports) == 1


def test_regular_reports_come_as_often_as_agreed():
    reports = Reports()
    reports.asked(monitor(3, SECOND, 2), 0)
    assert reports.due(SECOND - 1) == []
    assert reports.due(SECOND) == [(HOME, 3)]
    assert reports.next_deadline() == 2 * SECOND
    assert reports.due(2 * SECOND) == [(HOME, 3)]
    assert reports.next_deadline() is None


def test_every_watcher_hears_of_consumers_without_asking():
    reports = Reports()
    reports.asked(monitor(3), 0)
    reports.asked(monitor(9, source="far"), 0)
    assert reports.to_all() == [(HOME, 0), (AliasSender("far", "orders"), 0)]


def test_a_request_is_bounded():
    reports = Reports()
    reports.asked(monitor(1, 1, 10**9), 0)
    assert reports.next_deadline() == SHORTEST_PERIOD
    count = 0
    while (at := reports.next_deadline()) is not None:
        count += len(reports.due(at))
    assert count == MOST_REPORTS
