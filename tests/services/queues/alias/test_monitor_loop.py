"""The monitoring half of the control loop."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.alias.monitor_loop import RENEWED_AFTER, REPORTS_AGREED, MonitorLoop
from penstock.services.queues.laws.balancer import Balancer
from penstock.services.queues.laws.factory import balancing_law
from penstock.services.queues.messages import MonitorReport
from penstock.services.queues.parameters import AliasConfig, QueueParameters

NOW = 1000 * SECOND


class Desk:
    """A loop over two destinations that report when they are told to."""

    def __init__(self, **config):
        self.destinations = Destinations("home", ("work@east", "work@west"))
        for each in self.destinations:
            each.reachable, each.consumers = True, 1
        law = balancing_law(AliasConfig("orders", ("work@east", "work@west"), **config))
        self.balancer = Balancer(law, 0.001, QueueParameters(), NOW)
        self.loop = MonitorLoop("home", "orders", self.balancer, self.destinations, SECOND)
        self.now, self.iteration = NOW, 0

    def asked(self, act):
        out = []
        act(out)
        questions = [each.message for each in out]
        if questions:
            self.iteration = questions[-1].iteration
        return [(each.destination, each.every_ns, each.times) for each in questions]

    def begin(self):
        return self.asked(lambda out: self.loop.begin(self.now, out))

    def deadline(self):
        self.now = self.loop.next_deadline()
        return self.asked(lambda out: self.loop.deadline(self.now, out))

    def report(self, consumed):
        out = []
        for each in self.destinations:
            report = MonitorReport(
                each.broker,
                "home",
                "orders",
                each.queue,
                iteration=self.iteration,
                epoch=1,
                at=self.now,
                load=0,
                consumed=consumed,
                busy_ns=self.now - NOW,
                consumers=1,
                watchers=1,
            )
            self.loop.report(each, report, self.now, out)
        return out


def test_the_first_message_asks_for_a_first_report():
    desk = Desk()
    assert desk.begin() == [("east", 0, 0), ("west", 0, 0)]
    assert desk.begin() == [], "the loop runs"
    assert desk.loop.next_deadline() == NOW + SECOND


def test_the_paper_asks_in_every_iteration():
    desk = Desk(law="paper")
    desk.begin()
    desk.report(0)
    for _ in range(2):
        desk.balancer.produced(20_000)
        assert desk.deadline() == [("east", 0, 0), ("west", 0, 0)]
        desk.report(1000)


def test_pushed_reports_are_agreed_once_and_renewed_in_time():
    desk = Desk()
    desk.begin()
    desk.report(0)
    desk.balancer.produced(2000)
    assert desk.deadline() == [("east", SECOND, REPORTS_AGREED), ("west", SECOND, REPORTS_AGREED)]
    for each in range(RENEWED_AFTER):
        assert desk.loop.next_deadline() > desk.now, f"report {each}"
        desk.report(1000 * each)
        desk.now += SECOND
        desk.balancer.produced(2000)
    assert desk.deadline() == [("east", SECOND, REPORTS_AGREED), ("west", SECOND, REPORTS_AGREED)]


def test_a_destination_that_does_not_report_ends_the_iteration_by_time():
    desk = Desk()
    desk.begin()
    desk.balancer.produced(2000)
    desk.deadline()
    asked_at = desk.now
    desk.balancer.produced(2000)
    desk.deadline()
    assert desk.now == asked_at + SECOND
    assert desk.loop.runs


def test_the_loop_stops_when_nothing_is_produced():
    desk = Desk()
    desk.begin()
    desk.balancer.produced(2000)
    desk.deadline()
    desk.report(0)
    out = desk.report(10)
    assert [each.message.every_ns for each in out] in ([], [0, 0])
    while desk.loop.runs:
        desk.deadline()
    assert desk.loop.next_deadline() is None


def test_a_report_of_another_iteration_is_ignored():
    desk = Desk()
    desk.begin()
    desk.balancer.produced(2000)
    desk.deadline()
    desk.iteration -= 1
    desk.report(10)
    assert desk.balancer.load("work@east") is None


@pytest.mark.parametrize("balancing", ["round-robin", "weighted"])
def test_fixed_weights_are_not_monitored(balancing):
    desk = Desk(balancing=balancing)
    assert desk.begin() == []
    assert not desk.loop.runs
