from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from penstock.cli.main import status_of
from penstock.lab.scenario.file import load_scenario, parse_scenario
from penstock.lab.scenario.random_scenario import random_scenario

OLD = """
name = "small"
duration_s = 2
[brokers.a]
pubends = 1
[brokers.b]
[[links]]
between = ["a", "b"]
[[publishers]]
name = "p"
broker = "a"
rate_msgs_per_s = 50
[[subscribers]]
name = "s"
broker = "b"
count = 3
[[faults]]
at_s = 1
cut = ["a", "b"]
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.toml"
    path.write_text(OLD)
    return path


def test_a_former_file_is_converted_and_checked(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new.toml"
    assert status_of(["scenario", "convert", str(old), "--out", str(new)]) == 0
    assert capsys.readouterr().out == ""

    assert status_of(["scenario", "check", str(new)]) == 0
    told = capsys.readouterr().out
    assert "small: 2 s" in told
    assert "brokers: 2, links: 1" in told
    assert "clients of guaranteed: 3 subscribers, 1 publisher" in told
    assert "faults: 1 cut" in told
    assert "expectations: 0" in told


def test_the_converted_file_is_printed(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["scenario", "convert", str(old)]) == 0
    scenario = parse_scenario(tomllib.loads(capsys.readouterr().out))
    assert [each.name for each in scenario.clients] == ["s", "p"]


@pytest.mark.parametrize("command", [["scenario", "check"], ["run"]])
def test_a_former_file_is_refused_in_one_line_with_the_remedy(
    command: list[str], old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of([*command, str(old)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"penstock: {old}:4: brokers: [brokers.NAME] is [[brokers]]")
    assert told.endswith(f"penstock scenario convert {old}\n")


def test_a_mistake_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new.toml"
    path.write_text('name = "x"\nduration_s = 1\n[[brokers]]\nname = "b"\npubend = 3\n')
    assert status_of(["scenario", "check", str(path)]) == 2
    told = capsys.readouterr().err
    assert told == (
        f"penstock: {path}:5: brokers[0].pubend: unknown key; did you mean 'pubends'?\n"
    )


def test_what_is_invalid_after_the_conversion_is_told(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old.write_text(OLD.replace('broker = "b"', 'broker = "c"'))
    assert status_of(["scenario", "convert", str(old)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"penstock: {old}: after the conversion: clients 's0'.broker: ")


def test_a_random_scenario_is_that_of_its_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "random.toml"
    assert status_of(["scenario", "random", "--seed", "7", "--out", str(path)]) == 0
    assert load_scenario(path) == random_scenario(7)


def test_an_unknown_service_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["scenario", "random", "--services", "guaranted"]) == 2
    assert "there is no service 'guaranted'; did you mean" in capsys.readouterr().err


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["scenario", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Penstock scenario"
