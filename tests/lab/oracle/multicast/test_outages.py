"""When members may count as departed, by the faults of a scenario."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from penstock.lab.oracle.multicast.outages import EARLY_S, LATE_S, outages_of
from penstock.lab.scenario.model import Broker, Fault, Link, Scenario

AB, BC = ("a", "b"), ("b", "c")


def scenario(*faults: Fault, start_s: float = 0.0, **parameters: Any) -> Scenario:
    return Scenario(
        name="x",
        duration_s=100,
        brokers=(Broker(name="a"), Broker(name="b"), Broker(name="c", start_s=start_s)),
        links=(Link(between=AB), Link(between=BC)),
        parameters={"multicast": parameters},
        faults=faults,
    )


def test_short_interruptions_are_no_excuse() -> None:
    assert outages_of(scenario()) == ()
    cut = (Fault(at_s=5, cut=AB), Fault(at_s=10, mend=("b", "a")))
    assert outages_of(scenario(*cut)) == ()
    assert outages_of(scenario(*cut, departure_ns=5_000_000_000)) == ((10 - EARLY_S, 10 + LATE_S),)


def test_a_long_cut_is_one_until_it_is_mended() -> None:
    found = outages_of(scenario(Fault(at_s=5, cut=AB), Fault(at_s=30, mend=AB)))
    assert found == ((15 - EARLY_S, 30 + LATE_S),)


def test_what_is_never_repaired_lasts() -> None:
    assert outages_of(scenario(Fault(at_s=5, crash="b"))) == ((15 - EARLY_S, inf),)


@pytest.mark.parametrize("restart_s", [13.0, 12.0])
def test_interruptions_that_touch_count_as_one(restart_s: float) -> None:
    faults = (
        Fault(at_s=5, cut=AB),
        Fault(at_s=11, mend=AB),
        Fault(at_s=restart_s, crash="b"),
        Fault(at_s=20, restart="b"),
    )
    assert outages_of(scenario(*faults)) == ((15 - EARLY_S, 20 + LATE_S),)


def test_a_broker_that_starts_late_was_away() -> None:
    assert outages_of(scenario(start_s=5.0)) == ()
    assert outages_of(scenario(start_s=50.0)) == ((10 - EARLY_S, 50 + LATE_S),)
