"""The improved law as a ``BalancingLaw``."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.services.queues.laws.improved import ImprovedBalancing
from penstock.services.queues.laws.law import QueueView
from penstock.services.queues.parameters import AliasConfig


def law(**config):
    return ImprovedBalancing(AliasConfig("q", ("a@x", "b@y"), **config))


def test_it_divides_equally_until_it_regulates():
    assert law().allot(6, ["a", "b"]) == {"a": 3, "b": 3}
    assert law().weight("a") == 1.0


def test_it_regulates_by_capacity_whatever_was_consumed():
    balancing = law()
    views = {"a": QueueView(1500.0, 0, 1, 100.0), "b": QueueView(500.0, 0, 1, 900.0)}
    balancing.regulate(views, 1000, 1)
    assert balancing.weight("a") == pytest.approx(0.75)
    assert balancing.allot(100, ["a", "b"]) == {"a": 75, "b": 25}


def test_reports_are_pushed_and_the_first_period_is_a_second():
    assert law().monitors
    assert law().pushed
    assert law().first_period_ns == SECOND
    assert law(first_period_ns=3 * SECOND).first_period_ns == 3 * SECOND
