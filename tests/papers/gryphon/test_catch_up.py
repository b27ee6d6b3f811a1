"""A job that is far behind does not starve the live subscribers."""

from __future__ import annotations

from penstock.papers.gryphon.catch_up import catch_up

OUTAGE_S = 15.0


def test_paced_reading_does_not_slow_the_live_edge() -> None:
    found = catch_up(1, paced=True, outage_s=OUTAGE_S)
    assert found["missed"] == 0
    assert found["least rate"] >= 0.95
    assert found["share below"] == 0
    assert found["longest lag"] < 0.2
    assert found["live"] > 490


def test_unpaced_reading_slows_the_live_edge() -> None:
    found = catch_up(1, paced=False, outage_s=OUTAGE_S)
    assert found["missed"] == 0
    assert found["least rate"] < 0.5
    assert found["longest lag"] > 2
