"""Bars and verdicts of the papers' table."""

from __future__ import annotations

import math

import pytest

from penstock.lab.experiments.table import (
    SHOWN,
    VERDICT_STYLES,
    at_least,
    at_most,
    median_of,
    verdict,
    within,
)


@pytest.mark.parametrize(
    ("paper", "improved", "stretch", "expected"),
    [
        (26.3, 25.4, None, "reproduced"),
        (26.3, None, 25.5, "reproduced"),
        (26.3, 27.8, None, "reproduced by the paper's law only"),
        (26.3, 25.4, 25.5, "beaten"),
        (26.3, 26.0, 25.5, "reproduced"),
        (27.0, 25.4, 25.5, "beaten by the improved law only"),
        (27.0, 26.0, 25.5, "not reproduced"),
        (None, 26.0, None, "reproduced"),
        (None, 27.0, None, "not reproduced"),
        (math.nan, None, None, "not reproduced"),
    ],
)
def test_a_law_that_misses_the_bar_is_named(
    paper: float | None, improved: float | None, stretch: float | None, expected: str
) -> None:
    wanted = None if stretch is None else at_most(stretch)
    assert verdict(at_most(26.5), wanted, paper, improved) == expected
    assert expected in VERDICT_STYLES


def test_bars() -> None:
    assert at_least(3).holds(3)
    assert not at_least(3).holds(2.9)
    assert within(1, 2).holds(2)
    assert not within(1, 2).holds(2.1)
    assert SHOWN.holds(-1.0)
    assert verdict(SHOWN, None, math.nan, None) == "not reproduced", "there is no value to show"


def test_the_median_of_values_of_which_one_is_missing() -> None:
    assert median_of([1.0, 9.0, 2.0]) == 2.0
    assert math.isnan(median_of([1.0, math.nan, 2.0]))
