"""The load balancing controller (Section IV, Figure 3)."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.queues.laws.balancer import Balancer, LoadSample
from penstock.services.queues.laws.factory import balancing_law
from penstock.services.queues.parameters import AliasConfig, QueueParameters


def balancer_of(**config):
    law = balancing_law(AliasConfig("q", ("a@x", "b@y"), **config))
    return Balancer(law, 0.001, QueueParameters(), 0)


def test_the_paper_regulates_by_consumption():
    balancer = balancer_of(law="paper")
    assert balancer.begin(0) == 10 * SECOND
    for queue in ("a", "b"):
        balancer.report(queue, LoadSample(1, 0, 0, 0, 0))
    balancer.produced(20_000)
    balancer.report("a", LoadSample(1, 10 * SECOND, 0, 14_000, 10 * SECOND))
    balancer.report("b", LoadSample(1, 10 * SECOND, 0, 6_000, 10 * SECOND))
    assert balancer.regulate(["a", "b"], 10 * SECOND)
    assert (balancer.weight("a"), balancer.weight("b")) == (70, 30)
    assert balancer.period_ns == 2 * SECOND
    assert balancer.allot(100, ["a", "b"]) == {"a": 70, "b": 30}


def test_the_improved_law_sees_capacity_where_the_paper_sees_idleness():
    balancer = balancer_of(law="improved")
    balancer.begin(0)
    for queue in ("a", "b"):
        balancer.report(queue, LoadSample(1, 0, 0, 0, 0))
    balancer.produced(2000)
    # Both consumed 1,000, but one of them needed only two thirds of the time for it.
    balancer.report("a", LoadSample(1, SECOND, 0, 1000, 666 * MILLISECOND))
    balancer.report("b", LoadSample(1, SECOND, 0, 1000, SECOND))
    assert balancer.regulate(["a", "b"], SECOND)
    assert balancer.weight("a") == pytest.approx(0.6, abs=0.01)
    # One message for each of two queues, at 0.1 % of 2,000 messages a second.
    assert balancer.period_ns == SECOND


@pytest.mark.parametrize(("law", "period_s"), [("paper", 40.0), ("improved", 2.5)])
def test_the_improved_law_stays_quick_where_little_is_produced(law, period_s):
    balancer = balancer_of(law=law)
    balancer.begin(0)
    balancer.produced(100)
    assert balancer.regulate(["a", "b"], SECOND)
    assert balancer.period_ns == period_s * SECOND


def test_nothing_produced_ends_the_loop():
    assert not balancer_of().regulate(["a"], SECOND)


def test_a_destination_without_a_report_is_left_out():
    balancer = balancer_of()
    balancer.produced(10)
    assert balancer.regulate(["a", "b"], SECOND)
    assert balancer.weight("a") == 1.0


def test_a_restarted_destination_gives_no_rate_until_its_second_report():
    balancer = balancer_of()
    balancer.report("a", LoadSample(1, 0, 0, 500, 0))
    balancer.report("a", LoadSample(2, SECOND, 0, 10, 0))
    assert balancer.consumption_msgs_per_s("a") is None
    assert balancer.load("a") == 0


def test_a_lost_destination_is_forgotten():
    balancer = balancer_of()
    balancer.report("a", LoadSample(1, 0, 5, 0, 0))
    balancer.report("a", LoadSample(1, SECOND, 7, 100, SECOND))
    assert balancer.consumption_msgs_per_s("a") == 100
    balancer.forget("a")
    assert balancer.consumption_msgs_per_s("a") is None
    assert balancer.load("a") is None
