"""``penstock papers --held-out``: the table, one case, files, and wrong options."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from penstock.cli.errors import UserError
from penstock.cli.laboratory import held_out as command
from penstock.cli.laboratory.papers import papers
from penstock.lab.scenario.file import load_scenario
from penstock.papers.held_out.attribution import Attribution
from penstock.papers.held_out.case import Law
from penstock.papers.held_out.generator import case_of, kind_of
from penstock.papers.held_out.score import CaseScore, FlowScore

FIRST = 50_000


def invented(seed: int, law: Law) -> CaseScore:
    name = case_of(seed).flows[0].name
    flow = FlowScore(name, 0, 2.0, 1.0, 0.5, 0.0, shares=True)
    return CaseScore(seed, kind_of(seed), law, 0.5, 0.5, (), 0.1, Attribution(), 0, (flow,))


@pytest.fixture(autouse=True)
def no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(seeds: list[int], **options: object) -> list[CaseScore]:
        return [invented(seed, law) for seed in seeds for law in command.LAWS]

    monkeypatch.setattr(command, "run_cases", run)


def test_the_table_and_the_worst_cases(capsys: pytest.CaptureFixture[str]) -> None:
    papers(held_out=True, cases=3, first_seed=FIRST)
    printed = capsys.readouterr().out
    assert "3 held-out cases from seed 50000" in printed
    assert "misses median, worst" in printed
    assert "Worst cases of the improved law" in printed
    assert f"  {FIRST} guaranteed, 0.500: p0 gets 0.50 of 1 (wants 2) in phase 1" in printed


def test_one_case_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    papers(case=FIRST)
    printed = capsys.readouterr().out
    assert printed.startswith(f"Case {FIRST}: guaranteed; the optimum is max-min")
    assert "p0: wants" in printed


def test_json_has_rows_and_cases(capsys: pytest.CaptureFixture[str]) -> None:
    papers(held_out=True, cases=2, first_seed=FIRST, service="queues", json=True)
    report = msgspec.json.decode(capsys.readouterr().out, type=command.HeldOutReport)
    assert [each.seed for each in report.cases] == [50_008, 50_008, 50_018, 50_018]
    assert {each.kind for each in report.rows} == {"queues"}


def test_cases_are_written_as_scenario_files(tmp_path: Path) -> None:
    papers(held_out=True, cases=1, first_seed=FIRST, write=tmp_path)
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == [f"held-out-{FIRST}-improved.toml", f"held-out-{FIRST}-paper.toml"]
    for name in names:
        load_scenario(tmp_path / name)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"service": "post"}, "must be one of guaranteed, multicast"),
        ({"cases": 0}, "--cases"),
        ({"workers": 0}, "--workers"),
    ],
)
def test_wrong_options(options: dict[str, object], expected: str) -> None:
    with pytest.raises(UserError, match=expected) as caught:
        papers(held_out=True, **options)  # type: ignore[arg-type]  # one of several options
    assert caught.value.status == 2


def test_without_scipy_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"needs scipy.*penstock\[lab\]"):
        papers(held_out=True)
