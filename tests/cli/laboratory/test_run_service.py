"""``penstock run`` with a scenario of a service that has its own format."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.cli.main import status_of

SCENARIO = """
service = "gossip"
name = "few"
purpose = "A few peers in both worlds"
peers = 8
offered_msgs_per_s = 4.0
rounds = 24
warm_up_rounds = 4
settle_rounds = 10

[parameters]
law = "none"
buffer_events = 60

[expect]
receivers_at_least = {receivers}
"""


def written(folder: Path, receivers: float) -> str:
    path = folder / "few.toml"
    path.write_text(SCENARIO.format(receivers=receivers))
    return str(path)


@pytest.mark.parametrize("world", ["sim", "net"])
def test_both_worlds_run_the_same_file(
    world: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["run", written(tmp_path, 0.5), "--world", world, "--json", "--out", str(out)]
    assert status_of(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["scenario"], document["world"], document["held"]) == ("few", world, True)
    assert document["receivers"] == document["expectations"][0]["value"]
    table = pq.read_table(out / f"few-{world}-1.parquet")
    assert len(set(table["node"].to_pylist())) == 8
    assert set(table["run"].to_pylist()) == {f"few-{world}-1"}


def test_a_failed_expectation_is_named_and_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["run", written(tmp_path, 1.5)]) == 3
    shown = capsys.readouterr().out
    assert "few in the sim world, seed 1: 8 peers with 60 buffers" in shown
    assert "≥ 1.5" in shown
    assert "failed" in shown


def test_an_invalid_file_is_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('service = "gossip"\nname = "x"\npurpose = "y"\npeers = 0\n[parameters]\n')
    assert status_of(["run", str(path)]) == 2
    shown = capsys.readouterr().err.strip()
    assert "wrong.toml" in shown
    assert "peers" in shown
    assert "\n" not in shown


def test_a_run_is_written_to_a_lake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = tmp_path / "lake"
    assert status_of(["run", written(tmp_path, 0.5), "--lake", str(lake)]) == 0
    assert "landed" in capsys.readouterr().out
    rows = [pq.read_table(path) for path in lake.rglob("*.parquet")]
    metrics = {metric for table in rows for metric in table["metric"].to_pylist()}
    assert {"run_facts", "allowed_msgs_per_s"} <= metrics
