"""The verdicts of the papers' table on both laws."""

from __future__ import annotations

import pytest

from penstock.papers.table import VERDICT_STYLES, at_most, row


@pytest.mark.parametrize(
    ("paper", "improved", "stretch", "verdict"),
    [
        ([26.3], [25.4], None, "reproduced"),
        ([26.3], [27.8], None, "reproduced by the paper's law only"),
        ([26.3], [25.4], 25.5, "beaten"),
        ([26.3], [26.0], 25.5, "reproduced"),
        ([27.0], [25.4], 25.5, "beaten by the improved law only"),
        ([27.0], [26.0], 25.5, "not reproduced"),
        ([], [26.0], None, "reproduced"),
        ([], [27.0], None, "not reproduced"),
    ],
)
def test_a_law_that_misses_the_bar_is_named(
    paper: list[float], improved: list[float], stretch: float | None, verdict: str
) -> None:
    judged = row(
        "queues",
        "70/30 inverted",
        "total reception time",
        "s",
        paper="25.3",
        bar=at_most(26.5),
        stretch=None if stretch is None else at_most(stretch),
        paper_law=paper,
        improved_law=improved,
    )
    assert judged.verdict == verdict
    assert verdict in VERDICT_STYLES
