"""The command from the side of a user or a script: exit statuses, and errors in one line."""

from pathlib import Path

import pytest

from penstock.cli.main import all_commands, build_app, status_of
from penstock.version import version_line


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["--version"]) == 0
    assert capsys.readouterr().out.strip() == version_line()


def test_help_describes_every_installed_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert status_of(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in ("up", "serve", "pub", "sub", "run", "explain", "papers"):
        assert all_commands()[name][1] in " ".join(shown.split())
    assert build_app()["run"] is not None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nosuch"], 'Unknown command "nosuch"'),
        (["run"], "requires an argument"),
        (["run", "missing.toml"], "missing.toml: cannot be read: No such file or directory"),
        (["run", "x.toml", "--world", "moon"], "moon"),
        (["run", "x.toml", "--seed", "many"], "many"),
        (["explain", "price >"], "invalid selector at line 1"),
        (["serve", "missing.toml"], "missing.toml: cannot be read"),
        (["papers", "--service", "post"], "must be one of"),
        (["pub", "--attr", "price:float=dear", "x"], "not of type float"),
        (["pub", "--attr", "price", "x"], "write name=text or name:type=value"),
        (["sub", "--start", "yesterday"], "yesterday"),
        (["sub", "--count", "0"], "at least 1"),
        (["up", "--for", "0"], "greater than 0"),
    ],
)
def test_a_user_error_is_one_line_and_status_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(arguments) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("penstock: ")
    assert not shown.out


def test_an_unreachable_broker_is_one_line_and_status_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nowhere = ["--url", "penstock://127.0.0.1:1", "--deadline", "0.2"]
    assert status_of(["pub", "x", *nowhere]) == 1
    shown = capsys.readouterr()
    assert "127.0.0.1:1" in shown.err
    assert shown.err.count("\n") == 1


def test_an_invalid_scenario_names_file_and_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.toml"
    path.write_text('name = "s"\nduration_s = 1\n[[brokers]]\nname = "b"\npubend = 1\n')
    assert status_of(["run", str(path)]) == 2
    assert "s.toml:5: brokers[0].pubend: unknown key" in capsys.readouterr().err
