"""The paper's law as a ``BalancingLaw``."""

from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.services.queues.laws.law import QueueView
from penstock.services.queues.laws.paper import PaperBalancing
from penstock.services.queues.parameters import AliasConfig


def law(**config):
    return PaperBalancing(AliasConfig("q", ("a@x", "b@y"), **config))


def test_it_divides_equally_until_it_regulates():
    assert law().allot(6, ["a", "b"]) == {"a": 3, "b": 3}


def test_it_regulates_by_consumption_in_turns():
    balancing = law()
    views = {"a": QueueView(None, 0, 1, 1400.0), "b": QueueView(None, 0, 1, 600.0)}
    balancing.regulate(views, 2000, 10)
    assert (balancing.weight("a"), balancing.weight("b")) == (70, 30)
    assert balancing.allot(100, ["a", "b"]) == {"a": 70, "b": 30}


def test_it_cuts_the_weight_of_a_loaded_queue():
    balancing = law(max_load_messages=10)
    balancing.regulate(
        {"a": QueueView(None, 11, 1, 500.0), "b": QueueView(None, 0, 1, 500.0)}, 1, 1
    )
    assert (balancing.weight("a"), balancing.weight("b")) == (45, 50)


def test_it_asks_each_time_and_waits_ten_seconds_at_first():
    assert law().monitors
    assert not law().pushed
    assert law().first_period_ns == 10 * SECOND
    assert law(first_period_ns=3 * SECOND).first_period_ns == 3 * SECOND
