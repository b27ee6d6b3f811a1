"""The ideal rate of a group, as the paper's experiments have it."""

from __future__ import annotations

import pytest

from penstock.papers.held_out.gossip import ideal_rate


def test_the_ideal_rate_of_the_paper() -> None:
    assert ideal_rate(60, 5.0, 4) == pytest.approx(0.267 * 60, rel=2e-3)
    assert ideal_rate(60, 1.0, 8) == pytest.approx(10 * ideal_rate(60, 5.0, 4))
