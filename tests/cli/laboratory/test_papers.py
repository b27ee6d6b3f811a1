"""``penstock papers``: one experiment, an unknown one, and a machine without matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.cli.errors import UserError
from penstock.cli.laboratory import drawing
from penstock.cli.laboratory import papers as command
from penstock.cli.laboratory.papers import papers
from penstock.lab.experiments.experiment import Experiment
from penstock.lab.experiments.paper import Paper
from penstock.lab.experiments.row import Row
from penstock.lab.experiments.table import PaperRow
from penstock.lab.scenario.model import Measurement

DELIVERED = Measurement(metric="delivered")
SHORT = Experiment("gryphon-e1", {"duration_s": 3, "faults": []})
PAPER = Paper(
    "guaranteed",
    "A paper",
    {"first": SHORT, "second": SHORT},
    tuple(
        Row(f"the {name}", "delivered", "messages", measure=DELIVERED, paper_law=name)
        for name in ("first", "second")
    ),
)


@pytest.fixture
def one_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "installed_services", lambda: ["guaranteed"])
    monkeypatch.setattr(command, "paper_of", lambda service: PAPER)


def rows_of(printed: str) -> list[tuple[str, float | None]]:
    rows = msgspec.json.decode(printed, type=list[PaperRow])
    return [(each.run, each.paper_law) for each in rows]


@pytest.mark.usefixtures("one_paper")
@pytest.mark.parametrize("run", ["first", "The f"])
def test_one_run_by_itself(run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    papers(run=run, seeds=1, out=tmp_path, json=True)

    ((label, delivered),) = rows_of(capsys.readouterr().out)

    assert label == "the first"
    assert delivered is not None
    assert delivered > 1000


@pytest.mark.usefixtures("one_paper")
def test_the_whole_table_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    papers(seeds=1, out=tmp_path)
    printed = capsys.readouterr().out
    assert "the first" in printed
    assert "the second" in printed
    assert "reproduced" in printed


@pytest.mark.usefixtures("one_paper")
@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("secnd", "did you mean 'second'? known are the first, the second, first, second"),
        ("xyzzy", "known are the first, the second, first, second"),
    ],
)
def test_an_unknown_run_lists_the_known_ones(run: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        papers(run=run)
    assert str(caught.value) == f"--run {run!r}: there is no such run; {expected}"
    assert caught.value.status == 2


def test_without_matplotlib_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drawing, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'penstock\[lab\]'"):
        papers(service="guaranteed")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"cases": 3}, "--cases"),
        ({"first_seed": 7}, "--first-seed"),
        ({"workers": 1}, "--workers"),
        ({"write": Path("x")}, "--write"),
        ({"held_out": True, "seeds": 2}, "--seeds"),
        ({"held_out": True, "world": "net"}, "--world"),
        ({"case": 5, "run": "E1"}, "--run"),
        ({"case": 5, "out": Path("x")}, "--out"),
    ],
)
def test_an_option_that_would_have_no_effect_is_refused(
    options: dict[str, Any], named: str
) -> None:
    with pytest.raises(UserError, match=f"^{named} is for"):
        papers(**options)
