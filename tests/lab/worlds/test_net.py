"""A scenario as processes: what is refused, and what changes and faults do to real brokers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Scenario
from penstock.lab.worlds.net import UNSUPPORTED, NetRun
from penstock.lab.worlds.world import UnsupportedHere
from penstock.net.broker.config import load_config
from penstock.services.guaranteed.settings import GuaranteedTable

SUBSCRIBER: dict[str, Any] = {
    "service": "guaranteed",
    "role": "subscriber",
    "name": "s",
    "broker": "sb",
    "durable": True,
}
PUBLISHER: dict[str, Any] = {
    "service": "guaranteed",
    "role": "publisher",
    "name": "p",
    "broker": "pb",
    "pubend": "pb.1",
    "rate_msgs_per_s": 100,
}
ROW: dict[str, Any] = {
    "name": "row",
    "duration_s": 4,
    "trace_interval_s": 0.2,
    "brokers": [{"name": "pb", "pubends": 1}, {"name": "sb"}],
    "links": [{"between": ["pb", "sb"]}],
    "clients": [SUBSCRIBER, PUBLISHER],
}


def scenario(**changes: Any) -> Scenario:
    return parse_scenario({**ROW, **changes})


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_a_fault_that_only_the_simulator_supports_is_refused_before_the_run(kind: str) -> None:
    subject = "s" if kind == "drop_client" else "pb"
    with pytest.raises(UnsupportedHere, match=rf"{kind} at 1 s is not supported .* --world sim"):
        NetRun(scenario(faults=[{"at_s": 1, kind: subject}]), 1)


def test_reconfigurations_changes_of_links_and_pauses_lose_nothing(tmp_path: Path) -> None:
    link = {
        "between": ["pb", "sb"],
        "changes": [
            {"at_s": 1, "bandwidth_bytes_per_s": 100_000, "latency_ms": 5},
            {"at_s": 3, "bandwidth_bytes_per_s": 0},
        ],
    }
    plan = scenario(
        links=[link],
        faults=[
            {"at_s": 0.4, "pause": {"broker": "sb", "for_s": 0.3, "every_s": 0.5, "until_s": 2}},
            {"at_s": 0.5, "close": "s"},
            {"at_s": 1.5, "reopen": "s"},
            {"at_s": 2, "reconfigure": {"broker": "pb", "guaranteed": {"answer_bytes": 9000}}},
            {"at_s": 2, "reconfigure": {"broker": "pb", "pubends": 2}},
        ],
    )
    result = run(NetRun(plan, 1, directory=tmp_path))
    assert result.judgement.violations == 0, result.judgement.examples
    assert result.delivered > 0
    limits = result.telemetry.series("bandwidth_bytes_per_s", subject="pb->sb")
    assert 100_000 in {value for points in limits.values() for _, value in points}

    (table,) = [
        each
        for each in load_config(tmp_path / "pb.toml").tables
        if isinstance(each, GuaranteedTable)
    ]
    assert table.pubends == 2
    assert table.guaranteed.answer_bytes == 9000


def test_a_client_that_fails_ends_the_run_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: object) -> None:
        raise RuntimeError("a bug of the client")

    monkeypatch.setattr("penstock.lab.workloads.guaranteed.applications.NetPublisher.run", broken)
    world = NetRun(scenario(), 1, directory=tmp_path)
    with pytest.raises(RuntimeError, match="a bug of the client"):
        run(world)
    assert not [name for name, process in world._processes.items() if process.running]
