"""``penstock run`` on scenario files of the queue service."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from penstock.lab.service_runs import service_of
from penstock.papers.store_and_forward.live import COMPRESSED
from penstock.papers.store_and_forward.run import prepare

from penstock.lab.scenario.file import ScenarioError
from penstock.lab.telemetry.telemetry import Telemetry

SMALL = """
service = "queues"
name = "small"
messages = 4000
payload_bytes = 100
production_msgs_per_s = 2000.0
alias_queues = 1
consumer_shares = [0.7, 0.3]
give_up_s = 30.0
first_period_s = 0.1

[expect]
total_s_at_most = 4.0
highest_load_at_most = {load}
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL.format(load=5000))
    return path


def test_a_scenario_is_run_and_judged(small: Path) -> None:
    assert service_of(small) == "queues"
    heard: list[float] = []
    telemetry = Telemetry()
    outcome = prepare(small, "sim", 1).run(telemetry, heard.append)
    assert sum(outcome.measured["consumed"]) == 4000
    assert 2.0 <= outcome.measured["total_s"] <= 4.0
    assert [verdict.held for verdict in outcome.verdicts] == [True, True]
    assert "4,000 messages at 2000/s" in outcome.headline
    assert heard
    assert any(record.metric == "queue_messages" for record in telemetry.records)


def test_a_failed_expectation_is_reported(small: Path) -> None:
    small.write_text(SMALL.format(load=1))
    outcome = prepare(small, "sim", 1).run(Telemetry(), lambda at_s: None)
    assert [verdict.held for verdict in outcome.verdicts] == [True, False]


def test_the_network_runs_it_compressed(small: Path) -> None:
    run = prepare(small, "net", 1)
    assert run.scenario.messages == 4000 / COMPRESSED
    assert run.duration_s == pytest.approx(2.0 / COMPRESSED)
    assert run.scenario.expect.total_s_at_most == pytest.approx(4.0 / COMPRESSED + 1.0)
    assert run.scenario.expect.highest_load_at_most is None


@pytest.mark.parametrize("name", ["queues-balanced", "queues-unbalanced", "queues-inverted"])
def test_every_shipped_file_can_be_run(name: str) -> None:
    path = Path(str(files("penstock.papers") / "scenarios" / f"{name}.toml"))
    assert prepare(path, "sim", 1).scenario.messages == 1_000_000


def test_an_error_names_the_file_and_the_field(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(SMALL.format(load=1).replace("messages = 4000", "messages = -1"))
    with pytest.raises(ScenarioError, match=r"wrong\.toml: messages: expected int"):
        prepare(path, "sim", 1)
    with pytest.raises(ScenarioError, match="cannot be read"):
        prepare(tmp_path / "missing.toml", "sim", 1)
