"""A simulated broker whose machine raises crashes and restarts, or fails a checked run."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.machine import Fact, Received
from penstock.core.machine_failure import MachineFailed
from penstock.lab.oracle.guaranteed.history import GuaranteedHistory, Outcome
from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.worlds.sim import SimRun
from penstock.overlay.node import BrokerNode
from penstock.services.guaranteed.messages import Publish

SCENARIO = {
    "name": "one",
    "duration_s": 4,
    "brokers": [{"name": "pb", "pubends": 1}],
    "clients": [
        {
            "service": "guaranteed",
            "role": "subscriber",
            "name": "s",
            "broker": "pb",
            "start": "earliest",
            "durable": True,
        },
        {
            "service": "guaranteed",
            "role": "publisher",
            "name": "p",
            "broker": "pb",
            "rate_msgs_per_s": 50,
        },
    ],
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


def simulate(*, checked: bool) -> RunResult:
    return run(SimRun(parse_scenario(SCENARIO), 7, checked=checked))


def test_the_broker_crashes_and_nothing_acknowledged_is_lost(raising: list[int]) -> None:
    result = simulate(checked=False)

    (failure,) = result.failures
    assert "'pb' failed while it handled Received(Publish)" in failure
    assert result.judgements["guaranteed"].violations == 0
    assert result.judgement.violations == result.judgement["machine_failures"] == 1
    assert failure in result.judgement.examples
    history = result.histories["guaranteed"]
    assert isinstance(history, GuaranteedHistory)
    assert history.count(Outcome.ACKNOWLEDGED) > 100


def test_a_checked_run_fails_and_names_the_seed(raising: list[int]) -> None:
    with pytest.raises(MachineFailed, match=r"Received\(Publish\).*a bug") as failed:
        simulate(checked=True)

    assert "seed 7" in "".join(failed.value.__notes__)
