import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.cli.main import status_of

SCENARIO = """
name = "small"
duration_s = 2
[[brokers]]
name = "a"
pubends = 1
[[brokers]]
name = "b"
[[links]]
between = ["a", "b"]
[[clients]]
service = "guaranteed"
role = "subscriber"
name = "s"
broker = "b"
[[clients]]
service = "guaranteed"
role = "publisher"
name = "p"
broker = "a"
rate_msgs_per_s = 50
[[expect]]
metric = "violations"
at_most = 0
[[expect]]
metric = "delivered"
at_least = {wanted}
"""

PEERS = """
name = "peers"
duration_s = 6
drain_s = 0
[parameters.gossip]
gossip_period_ns = 500_000_000
[[clients]]
service = "gossip"
name = "p"
count = 8
rate_msgs_per_s = 0.5
[[expect]]
metric = "violations"
at_most = 0
"""


def written(folder: Path, wanted: int) -> str:
    path = folder / "small.toml"
    path.write_text(SCENARIO.format(wanted=wanted))
    return str(path)


def test_a_run_writes_telemetry_and_prints_its_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert status_of(["run", written(tmp_path, 50), "--seed", "3", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "small in the sim world, seed 3" in shown
    assert "held" in shown
    (file,) = out.glob("*.parquet")
    metrics = set(pq.read_table(file, columns=["metric"]).column("metric").to_pylist())
    assert {"published_messages", "delivered_messages", "queue_bytes"} <= metrics


@pytest.mark.parametrize("world", ["sim", "net"])
def test_both_worlds_run_the_same_file_and_print_json(
    world: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["run", written(tmp_path, 50), "--world", world, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["world"] == world
    assert document["held"] is True
    assert document["violations"] == 0
    guaranteed = document["services"]["guaranteed"]
    assert guaranteed["delivered"] == document["expectations"][1]["value"]
    assert guaranteed["rules"]["lost"] == 0


def test_a_failed_expectation_is_status_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["run", written(tmp_path, 10_000), "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert [each["held"] for each in document["expectations"]] == [True, False]


def test_a_fault_that_the_net_world_does_not_support_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, 1)
    with Path(path).open("a") as file:
        file.write('[[faults]]\nat_s = 1\nfill_disk = "a"\n')
    assert status_of(["run", path, "--world", "net"]) == 1
    shown = capsys.readouterr().err
    assert "fill_disk at 1 s is not supported in the net world; run it with --world sim" in shown
    assert shown.count("\n") == 1


def test_a_shortened_run_keeps_its_rates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["run", written(tmp_path, 80), "--shorten", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["services"]["guaranteed"]["delivered"] == pytest.approx(50, abs=2)


def test_a_service_that_cannot_run_as_arrays_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["run", written(tmp_path, 1), "--world", "arrays"]) == 1
    shown = capsys.readouterr().err
    assert "the service 'guaranteed' does not run as arrays; use --world sim" in shown
    assert shown.count("\n") == 1


def test_peers_without_brokers_run_in_the_same_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "peers.toml"
    path.write_text(PEERS)
    assert status_of(["run", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["services"]) == ["gossip"]
    assert document["services"]["gossip"]["delivered"] > 0
