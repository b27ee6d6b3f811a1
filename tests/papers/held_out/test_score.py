"""Cases that run for real, from other seeds than the table's, and what a score is made of."""

from __future__ import annotations

import pytest

from penstock.papers.held_out.explanation import explained
from penstock.papers.held_out.generator import case_of
from penstock.papers.held_out.score import FlowScore, run_case

MULTICAST, GUARANTEED, MIXTURE = 50_011, 50_005, 50_019


@pytest.mark.parametrize(
    ("seed", "kind", "utilisation", "worst"),
    [
        (MULTICAST, "multicast", 0.97, 0.9),
        (GUARANTEED, "guaranteed", 0.9, 0.85),
        (MIXTURE, "mixture", 0.9, None),
    ],
)
def test_a_case_is_near_its_optimum(
    seed: int, kind: str, utilisation: float, worst: float | None
) -> None:
    score = run_case(seed, "improved")

    assert score.kind == kind
    assert score.utilisation >= utilisation
    assert score.starving == ()
    assert score.violations == 0
    assert (score.worst is None) == (worst is None)
    if worst is not None:
        assert score.worst is not None
        assert score.worst >= worst
        # The limited flows of both cases have a cause, and it is the link that was limited.
        assert score.attribution.named > 0
        assert score.attribution.right == score.attribution.named
    text = explained(case_of(seed), [score])
    assert text.startswith(f"Case {seed}: {kind}")
    assert f"improved law: {score.utilisation:.3f} of the optimum" in text


def test_a_flow_that_wants_nothing_has_all_of_it() -> None:
    assert FlowScore("x", 0, 0.0, 0.0, 0.0, 0.0, shares=True).part == 1.0
