"""Failover: rows return from destinations that cannot take them."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.alias.failover import Failover
from penstock.services.queues.alias.monitor_loop import MonitorLoop
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.laws.balancer import Balancer, LoadSample
from penstock.services.queues.laws.fixed import FixedBalancing
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.messages import ForwardRefused, Monitor, MonitorReport
from penstock.services.queues.parameters import QueueParameters
from penstock.services.queues.routing import Routes

NOW = 1000 * SECOND
PARAMETERS = QueueParameters()


class Announcements:
    """Stands for the transaction, of which failover needs only this."""

    def __init__(self):
        self.announced = []

    def announce_again(self, destination, now, out):
        destination.schedule_repeat(now, PARAMETERS.repeat_ns)
        self.announced.append(destination.address)


class Desk:
    """Rows [1, 5) are in flight to east, and [5, 7) wait."""

    def __init__(self, make_journal, make_rows):
        self.rows = AliasRows(make_journal(), Entries(1 << 20))
        self.destinations = Destinations("home", ("work@east", "work@west"))
        self.east, self.west = self.destinations
        for each in self.destinations:
            each.reachable, each.consumers = True, 1
        self.balancer = Balancer(FixedBalancing({}, SECOND), 0.001, PARAMETERS, NOW)
        loop = MonitorLoop("home", "orders", self.balancer, self.destinations, SECOND)
        self.transaction = Announcements()
        self.failover = Failover(
            PARAMETERS, self.rows, self.destinations, self.balancer, loop, self.transaction
        )
        self.rows.arrived(make_rows(1, 6), stored=True)
        self.rows.waiting.remove(4, 1, 5)
        self.east.sent(1, 5, 100, NOW)
        self.routes = Routes("home")
        self.routes.replace({"east": "east", "west": "west"})

    def waiting(self):
        return [part for _, level in self.rows.waiting.levels() for part in level]

    def report(self, **fields):
        fields = {"consumers": 1, "problem": "", **fields}
        return MonitorReport(
            "east",
            "home",
            "orders",
            "work",
            iteration=0,
            epoch=1,
            at=NOW,
            load=3,
            consumed=0,
            busy_ns=0,
            watchers=1,
            **fields,
        )


@pytest.fixture
def desk(make_journal, make_rows):
    return Desk(make_journal, make_rows)


def test_rows_return_from_a_destination_that_cannot_be_reached(desk):
    desk.balancer.report("work@east", LoadSample(1, 0, 0, 0, 0))
    desk.routes.replace({"west": "west"})
    out = []
    desk.failover.routes_changed(desk.routes, NOW, out)
    assert desk.waiting() == [(1, 7)]
    assert (desk.east.reachable, desk.east.consumers, out) == (False, None, [])
    assert desk.balancer.load("work@east") is None


def test_a_destination_that_returns_is_asked_and_told_its_decisions(desk):
    desk.east.lost()
    out = []
    desk.failover.routes_changed(desk.routes, NOW, out)
    (question,) = [each.message for each in out]
    assert isinstance(question, Monitor)
    assert question.destination == "east"
    assert desk.transaction.announced == ["work@east"]
    assert desk.east.probed_at == NOW


def test_refused_rows_return_and_the_destination_is_paused(desk):
    desk.failover.refused(
        ForwardRefused("east", "home", "orders", "work", ((1, 3),), "the disk is full"), NOW
    )
    assert desk.waiting() == [(1, 3), (5, 7)]
    assert not desk.east.can_take(NOW, alone=True)
    assert desk.east.can_take(NOW + PARAMETERS.refused_pause_ns, alone=True)
    desk.failover.refused(ForwardRefused("x", "home", "orders", "work", ((3, 4),), ""), NOW)
    assert desk.waiting() == [(1, 3), (5, 7)]


def test_rows_return_from_a_silent_destination(desk):
    assert desk.failover.next_deadline() == NOW + PARAMETERS.forward_timeout_ns
    desk.failover.deadline(NOW + PARAMETERS.forward_timeout_ns, [])
    assert desk.waiting() == [(1, 7)]


def test_rows_return_from_a_retired_destination_which_is_forgotten(desk):
    desk.failover.retire("work@east")
    assert desk.waiting() == [(1, 7)]
    assert desk.destinations.find("east", "work") is None


def test_decisions_are_repeated_until_they_are_confirmed(desk):
    desk.west.decided.add(8, 9)
    desk.west.schedule_repeat(NOW, PARAMETERS.repeat_ns)
    desk.failover.deadline(NOW + PARAMETERS.repeat_ns, [])
    assert desk.transaction.announced == ["work@west"]


def test_a_report_says_whether_there_are_consumers_or_a_problem(desk):
    desk.failover.report(desk.report(consumers=0), NOW, [])
    assert desk.east.consumers == 0
    desk.failover.report(desk.report(consumers=2), NOW, [])
    assert desk.east.can_take(NOW, alone=False)
    assert desk.balancer.load("work@east") == 3
    desk.failover.report(desk.report(problem="no such queue"), NOW, [])
    assert (desk.east.consumers, desk.east.problem) == (0, "no such queue")
    assert desk.east.paused_until == NOW + PARAMETERS.refused_pause_ns


def test_a_destination_without_consumers_is_asked_again(desk):
    desk.east.take_back_all()
    desk.east.consumers, desk.east.probed_at = 0, NOW
    out = []
    at = desk.failover.next_deadline()
    assert at == NOW + PARAMETERS.forward_timeout_ns
    desk.failover.deadline(at, out)
    assert [each.message.destination for each in out] == ["east"]
    assert desk.east.probed_at == at


def test_a_pause_ends_with_a_question(desk):
    desk.failover.pause("work@west", "full", NOW)
    out = []
    desk.failover.deadline(NOW + PARAMETERS.refused_pause_ns, out)
    assert [each.message.destination for each in out] == ["west"]
    assert desk.west.paused_until == 0
