"""Held-out cases that showed a defect, which is mended: they are held out no longer."""

from __future__ import annotations

import pytest

from penstock.papers.held_out.score import run_case

MENDED = {
    60085: "a recovery that a relay's memory and the source answer in turn",
    60070: "alerts of two edges to one query taken for a queue that stands",
    42023: "a message that waits for its turn keeps a pace from growing",
    42125: "publishers that start together share a link for a moment",
    70053: "a burst that a link takes stops its pubend again and again",
}


@pytest.mark.parametrize("seed", MENDED, ids=MENDED.values())
def test_every_flow_gets_its_share_and_every_cause_is_right(seed: int) -> None:
    scored = run_case(seed, "improved")

    assert scored.utilisation >= 0.97
    assert scored.worst is not None
    assert scored.worst >= 0.95
    assert scored.attribution.wrong == {}
    assert scored.violations == 0
