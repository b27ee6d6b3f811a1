"""Rows as data: which values they judge, and how."""

from __future__ import annotations

import math

import pytest

from penstock.lab.experiments.experiment import Measure
from penstock.lab.experiments.results import Of, Results
from penstock.lab.experiments.row import Row
from penstock.lab.experiments.table import Bar, at_least, at_most
from penstock.lab.scenario.model import Measurement

RATE = Measurement(metric="delivered_rate")


def results_of(measure: Measure = RATE, /, **values: list[float]) -> Results:
    """Values by experiment, where a dash in its name is a blank."""
    results = Results()
    for name, each in values.items():
        key = name.replace("_", " ")
        for value in each:
            results.add(Of(key, measure), value)
        results.ran(key, len(each), (), 10.0)
    return results


def test_the_medians_of_both_laws_are_judged() -> None:
    made = Row(
        "E1", "rate", "msg/s", "500", at_least(2), stretch=at_least(7), measure=RATE, laws="E"
    )

    found = made.judged("guaranteed", results_of(E_paper=[1.0, 2.0, 9.0], E_improved=[7.0] * 3))

    assert (found.paper_law, found.improved_law, found.seeds) == (2.0, 7.0, 3)
    assert (found.verdict, found.bar, found.stretch) == ("beaten", "≥ 2", "≥ 7")
    assert made.experiments() == {"E paper", "E improved"}


def test_a_mean_is_judged_where_the_row_says_so() -> None:
    made = Row("E1", "rate", "", measure=RATE, paper_law="E", mean=True, scale=10)
    assert made.judged("s", results_of(E=[1.0, 2.0, 9.0])).paper_law == 40.0


def test_values_are_divided_seed_by_seed() -> None:
    results = results_of(E=[2.0, 3.0, 0.0], free=[4.0, 3.0, 0.0])
    made = Row("E1", "rate", "", measure=RATE, paper_law="E", against="free")

    assert made.values(results, "E")[:2] == [0.5, 1.0]
    assert math.isnan(made.values(results, "E")[2]), "nothing divided by nothing is no number"
    inverse = Row("E1", "rate", "", measure=RATE, paper_law="E", against="free", inverse=True)
    assert inverse.values(results, "E")[:2] == [2.0, 1.0]
    assert inverse.values(results_of(E=[0.0], free=[4.0]), "E") == [float("inf")]


def test_several_experiments_are_combined() -> None:
    made = Row(
        "E",
        "apart",
        "",
        measure=RATE,
        paper_law=("a", Of("b", "number")),
        combine=lambda values: [abs(one - other) for one, other in zip(*values, strict=True)],
    )
    results = results_of(a=[5.0, 3.0])
    for value in (4.0, 5.0):
        results.add(Of("b", "number"), value)

    assert made.needed() == (Of("a", RATE), Of("b", "number"))
    assert made.judged("s", results).paper_law == 1.5


def test_words_and_bars_may_depend_on_other_results() -> None:
    def bar(results: Results) -> Bar:
        return at_most(0.5 * results.median("free", RATE))

    made = Row(
        "E",
        "lost",
        "",
        bar=bar,
        measure=RATE,
        paper_law="E",
        note=lambda results: f"{results.values('free', RATE)[0]:g} without control",
        needs=(Of("free", RATE),),
    )

    found = made.judged("s", results_of(E=[6.0], free=[10.0]))

    assert (found.bar, found.verdict) == ("≤ 5", "not reproduced")
    assert found.note == "10 without control"
    assert made.experiments() == {"E", "free"}


def test_a_result_that_was_not_asked_for_is_an_error() -> None:
    with pytest.raises(KeyError, match="needs"):
        results_of(E=[1.0]).values("free", RATE)


def test_a_missing_value_is_no_success() -> None:
    results = results_of(E_paper=[1.0, 2.0])
    results.add(Of("E paper", RATE), math.nan, "no value was recorded in this interval")

    found = Row("E", "rate", "", measure=RATE, paper_law="E paper").judged("s", results)

    assert found.verdict == "not reproduced"
    assert math.isnan(found.paper_law or 0.0)
    assert found.note == "nothing measured in E paper: no value was recorded in this interval"


def test_a_row_with_one_of_its_laws_only() -> None:
    made = Row("E", "rate", "", measure=RATE, laws="E")
    part = made.of_experiments(frozenset(("E improved",)))
    assert part is not None
    assert (part.paper_law, part.improved_law) == ("", "E improved")
    assert made.of_experiments(frozenset(("F",))) is None
    divided = Row("E", "rate", "", measure=RATE, laws="E", against="free")
    assert divided.of_experiments(frozenset(("E paper",))) is None
