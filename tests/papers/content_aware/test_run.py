"""``penstock run`` with scenario files of the datagram service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.main import status_of
from penstock.lab.scenario.file import ScenarioError
from penstock.papers.content_aware.run import LargeNetworkRun, PairsRun, prepare

SHIPPED = Path(__file__).parents[3] / "src/penstock/papers/scenarios"
SCENARIO = """
service = "datagram"
name = "narrow"
duration_s = {duration_s}
bandwidth = [[0.0, 500.0]]
law = "{law}"

[[pairs]]
matching = 0.5
rate_msgs_per_s = [[0.0, 800.0]]

[expect]
lost_messages_at_most = {lost}
"""


def narrow(folder: Path, law: str, *, lost: int, duration_s: float = 10.0) -> Path:
    path = folder / f"{law}.toml"
    path.write_text(SCENARIO.format(law=law, lost=lost, duration_s=duration_s))
    return path


def shown(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict]:
    status = status_of(["run", str(path), "--json", *more])
    return status, json.loads(capsys.readouterr().out)


def test_the_law_of_the_file_determines_the_losses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, free = shown(narrow(tmp_path, "none", lost=100), capsys)
    assert status == 3, "only 223 of 400 messages per second fit"
    assert free["held"] is False
    status, controlled = shown(narrow(tmp_path, "improved", lost=100), capsys)
    assert status == 0
    assert free["lost_messages"] > 10 * max(1, controlled["lost_messages"])
    assert 0.8 < controlled["utilisation"] <= 1.05
    assert controlled["rates_msgs_per_s"] == [controlled["received_messages"] / 10.0]


def test_the_network_runs_the_same_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, live = shown(
        narrow(tmp_path, "paper", lost=1_000_000, duration_s=20.0), capsys, "--world", "net"
    )
    assert status == 0
    assert live["received_messages"] > 0
    assert live["world"] == "net"


def test_every_shipped_file_is_valid() -> None:
    files = sorted(SHIPPED.glob("datagram-*.toml"))
    prepared = {path.stem: prepare(path, "sim", 1) for path in files}
    assert len(prepared) == 7
    assert isinstance(prepared["datagram-large"], LargeNetworkRun)
    assert isinstance(prepared["datagram-fairness"], PairsRun)
    assert "tcp_part" in prepared["datagram-tcp"].measures


@pytest.mark.parametrize("name", ["datagram-tcp", "datagram-large"])
def test_scenarios_for_the_simulator_alone_are_refused_live(name: str) -> None:
    with pytest.raises(ScenarioError, match="only with --world sim"):
        prepare(SHIPPED / f"{name}.toml", "net", 1)
