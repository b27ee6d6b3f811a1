"""``penstock lake`` and ``penstock run --lake``, as far as they need no Spark."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from penstock.cli.main import status_of
from penstock.cli.spark import session as spark_session

SCENARIO = """
name = "small"
duration_s = 2
[[brokers]]
name = "a"
pubends = 1
[[clients]]
service = "guaranteed"
role = "publisher"
name = "p"
broker = "a"
rate_msgs_per_s = 5
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return str(path)


def test_a_run_lands_in_a_lake_and_is_listed(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = str(tmp_path / "lake")
    assert status_of(["run", scenario, "--lake", lake]) == 0
    assert f"penstock report small-sim-1 --lake {lake}" in " ".join(capsys.readouterr().out.split())
    assert status_of(["run", scenario, "--lake", lake, "--seed", "2", "--json"]) == 0
    capsys.readouterr()

    assert status_of(["lake", "runs", "--path", lake, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["run"] for each in listed] == ["small-sim-1", "small-sim-2"]
    assert all(each["rows"] > 0 and each["seconds"] >= 2 for each in listed)
    assert status_of(["lake", "runs", "--path", lake]) == 0
    assert "2023-11-14 22:13:20" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["report", "x", "--lake", "nowhere"], "nowhere: there is no table"),
        (["lake", "runs", "--path", "nowhere"], "nowhere: there is no table"),
        (["lake", "compact", "--path", "nowhere"], "nowhere: there is no table"),
        (["lake", "--path", "l", "--url", "http://x"], "'http://x' is not the address of a broker"),
        (["lake", "--path", "l", "--every", "0"], "--every must be greater than 0"),
        (["lake"], "requires an argument"),
        (["lake", "drop", "--path", "l"], "give --run NAME, --before DAY or both"),
        (["lake", "convert", "--path", "l"], "l: there is no lake of the former format"),
        (["sweep", "missing.toml"], "missing.toml: cannot be read"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status_of(arguments) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert shown.err.count("\n") == 1


def test_a_lake_is_compacted_and_runs_are_dropped(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = str(tmp_path / "lake")
    for seed in ("1", "2"):
        assert status_of(["run", scenario, "--lake", lake, "--seed", seed, "--json"]) == 0
    capsys.readouterr()
    assert status_of(["lake", "compact", "--path", lake]) == 0
    assert "0 files in 0 folders were merged into 0" in capsys.readouterr().out
    assert status_of(["lake", "drop", "--path", lake, "--run", "small-sim-1"]) == 0
    assert "files dropped" in capsys.readouterr().out
    assert status_of(["lake", "drop", "--path", lake, "--before", "2023-11-14", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"files": 0, "rows": 0}
    assert status_of(["lake", "runs", "--path", lake, "--json"]) == 0
    assert [each["run"] for each in json.loads(capsys.readouterr().out)] == ["small-sim-2"]


def test_a_non_empty_directory_that_is_no_lake_is_refused(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["run", scenario, "--lake", str(tmp_path)]) == 1
    assert "the directory is not empty and no table; name another one" in capsys.readouterr().err


def test_a_report_lists_the_available_runs_in_its_error(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = str(tmp_path / "lake")
    assert status_of(["run", scenario, "--lake", lake, "--json"]) == 0
    capsys.readouterr()
    assert status_of(["report", "--lake", lake]) == 2
    assert "name the runs to report on" in capsys.readouterr().err
    assert status_of(["report", "other", "--lake", lake]) == 2
    assert "there is no run 'other'; there are: small-sim-1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--param", "duration_s=0"], "duration_s: expected float > 0"),
        (["--param", "x=1"], "x: unknown key"),
        (["--seeds", "0"], "--seeds 0: must be at least 1"),
        (["--param", "duration_s=1:200:1", "--seeds", "100"], "20000 runs; at most 10000"),
        (["--measure", "luck"], "--measure luck: must be one of recovery_s"),
        (["--name", "a/b"], "--name a/b: use letters"),
    ],
)
def test_an_invalid_sweep_fails_before_spark_starts(
    arguments: list[str],
    told: str,
    scenario: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def started(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(spark_session, "need_spark", started)
    monkeypatch.setattr("penstock.cli.spark.sweep.need_spark", started)
    assert status_of(["sweep", scenario, *arguments]) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["report", "x", "--lake", "l"], ["lake", "--path", "l"], ["up", "--spark"]]
)
def test_without_spark_the_error_says_what_to_install(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        spark_session, "find_spec", lambda name: None if name == "pyspark" else real(name)
    )
    assert status_of(arguments) == 1
    shown = capsys.readouterr()
    assert "needs Spark, which is not installed: pip install 'penstock[spark]'" in shown.err
    assert shown.err.count("\n") == 1
