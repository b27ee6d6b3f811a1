"""A simulated broker whose machine raises crashes and restarts, or fails a checked run."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.clock import SECOND
from penstock.core.machine import Fact, Received
from penstock.core.machine_failure import MachineFailed
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.worlds.sim import SimRun
from penstock.overlay.node import BrokerNode
from penstock.services.guaranteed.messages import Publish
from penstock.sim.history import Outcome

SCENARIO = {
    "name": "one",
    "duration_s": 4,
    "brokers": {"pb": {"pubends": 1}},
    "publishers": [{"name": "p", "broker": "pb", "rate_msgs_per_s": 50}],
    "subscribers": [{"name": "s", "broker": "pb", "start": "earliest", "durable": True}],
}


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the publications after which the machine raises, with its state changed."""
    numbers = [50]
    handle = BrokerNode.handle
    seen = 0

    def broken(self: BrokerNode, fact: Fact, *, now: int) -> Any:
        nonlocal seen
        orders = handle(self, fact, now=now)
        if isinstance(fact, Received) and isinstance(fact.message, Publish):
            seen += 1
            if seen in numbers:
                raise IndexError("a bug")
        return orders

    monkeypatch.setattr(BrokerNode, "handle", broken)
    return numbers


def simulate(*, checked: bool) -> Any:
    scenario = parse_scenario(SCENARIO)
    world = SimRun(scenario, 7, checked=checked)
    return run(scenario, world), world


def test_the_broker_crashes_and_nothing_acknowledged_is_lost(raising: list[int]) -> None:
    result, world = simulate(checked=False)

    assert len(world.world.failures) == 1
    assert "'pb' failed while it handled Received(Publish)" in world.world.failures[0]
    assert result.judgement.violations == result.judgement.machine_failures == 1
    assert result.history.count(Outcome.ACKNOWLEDGED) > 100
    assert world.world.now > SECOND


def test_a_checked_run_fails_and_names_the_seed(raising: list[int]) -> None:
    with pytest.raises(MachineFailed, match=r"Received\(Publish\).*a bug") as failed:
        simulate(checked=True)

    assert "seed 7" in "".join(failed.value.__notes__)
