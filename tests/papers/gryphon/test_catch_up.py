"""A job that is far behind does not starve the live subscribers."""

from __future__ import annotations

from penstock.papers.gryphon.catch_up import CatchUp, run, show

OUTAGE_S = 15.0


def test_paced_reading_does_not_slow_the_live_edge() -> None:
    outcome = run(CatchUp(paced=True, outage_s=OUTAGE_S))
    assert outcome.missed_messages == 0
    assert outcome.least_rate >= 0.95
    assert outcome.longest_lag_s < 0.2


def test_unpaced_reading_slows_the_live_edge() -> None:
    outcome = run(CatchUp(paced=False, outage_s=OUTAGE_S))
    assert outcome.missed_messages == 0
    assert outcome.least_rate < 0.5
    assert outcome.longest_lag_s > 2
    assert "naive" in str([column._cells for column in show([outcome]).columns])
