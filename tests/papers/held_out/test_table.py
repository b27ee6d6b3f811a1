"""Rows, verdicts, and the worst cases."""

from __future__ import annotations

import io

from rich.console import Console

from penstock.papers.held_out.attribution import Attribution
from penstock.papers.held_out.case import Law
from penstock.papers.held_out.score import CaseScore, FlowScore
from penstock.papers.held_out.table import happened, render, rows_of, worst_cases


def score_of(
    seed: int = 1,
    kind: str = "guaranteed",
    law: Law = "improved",
    *,
    utilisation: float = 1.0,
    worst: float | None = 1.0,
    starving: tuple[str, ...] = (),
    right: int = 10,
    violations: int = 0,
) -> CaseScore:
    flows = () if worst is None else (FlowScore("p0", 0, 20.0, 10.0, 10 * worst, 0.0, shares=True),)
    named = Attribution(10, right, {"p0: a->b": 10 - right} if right < 10 else {})
    return CaseScore(seed, kind, law, utilisation, worst, starving, 0.1, named, violations, flows)


def test_a_row_meets_all_bars() -> None:
    (row,) = rows_of([score_of(1), score_of(2, utilisation=0.98, worst=0.9)])
    assert (row.cases, row.worst, row.below_bar) == (2, 0.9, 0)
    assert row.verdict == "meets all bars"


def test_a_row_says_what_it_misses() -> None:
    bad = score_of(utilisation=0.5, worst=0.05, starving=("p0",), right=5, violations=1)
    (row,) = rows_of([bad])
    assert row.verdict == "misses median, worst, starving, cause, promises"
    assert row.named_right == 0.5


def test_rows_are_in_the_order_of_kinds_and_laws() -> None:
    scores = [score_of(kind="queues"), score_of(), score_of(law="paper")]
    rows = rows_of(scores)
    expected = [("guaranteed", "paper"), ("guaranteed", "improved"), ("queues", "improved")]
    assert [(each.kind, each.law) for each in rows] == expected


def test_the_worst_cases_come_first() -> None:
    scores = [score_of(1, worst=0.9), score_of(2, worst=0.2), score_of(3, utilisation=0.5)]
    assert [each.seed for each in worst_cases(scores, 2)] == [2, 3]


def test_what_happened_in_words() -> None:
    words = happened(score_of(worst=0.05, starving=("p0",), right=8, violations=2))
    assert words == (
        "p0 gets 0.05 of 10 (wants 20) in phase 1; starving: p0; "
        "2 wrong causes (2 x p0: a->b); 2 broken promises"
    )
    assert happened(score_of()) == "nothing below its bar"


def test_a_mixture_has_no_worst_flow() -> None:
    (row,) = rows_of([score_of(kind="mixture", worst=None)])
    console = Console(file=io.StringIO(), width=200)
    console.print(render([row], "title"))
    assert row.verdict == "meets all bars"
    assert "mixture" in console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
