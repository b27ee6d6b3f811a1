"""Small Gryphon experiments: the shape of E2, both laws, and the named bottleneck."""

import pytest

from penstock.papers.gryphon.runs import Job, jain, mean_between, recovery_s, run_job
from penstock.papers.table import at_least, at_most, row

THIN_LINK_MSGS_PER_S = 61440 / 368


@pytest.mark.parametrize(("law", "used"), [("paper", 0.80), ("improved", 0.95)])
def test_a_thin_link_is_used_and_named_and_nothing_is_lost(law: str, used: float) -> None:
    kept = run_job(Job("gryphon-e2", law, 1, duration_s=75))
    assert kept.violations == 0
    assert kept.dropped == 0
    assert mean_between(kept.delivered["s1"], 50, 75) >= used * THIN_LINK_MSGS_PER_S
    assert max(value for _, value in kept.queue_bytes["ib->sb1"]) < 1_000_000
    assert kept.blamed["ib->sb1"] >= 0.9 * (kept.blamed["ib->sb1"] + kept.blamed.get("ib->sb2", 0))


def test_without_control_the_thin_link_overflows() -> None:
    kept = run_job(Job("gryphon-collapse-1", "paper", 1, duration_s=70))
    assert kept.dropped > 0
    assert kept.duplicated == kept.out_of_order == 0


def test_recovery_is_the_time_until_no_stream_lags() -> None:
    lag = [(100.0, 60.0), (102.0, 30.0), (104.0, 1.0)]
    assert recovery_s(lag, 99.0) == 5.0
    assert recovery_s(lag[:2], 99.0) == float("inf")


def test_jain() -> None:
    assert jain([5.0, 5.0, 5.0]) == pytest.approx(1.0)
    assert jain([1.0, 0.0]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("ours", "improved", "verdict"),
    [
        (100.0, 80.0, "beaten"),
        (100.0, 90.0, "reproduced"),
        (200.0, 80.0, "beaten by the improved law only"),
        (200.0, 90.0, "not reproduced"),
    ],
)
def test_a_verdict_is_computed(ours: float, improved: float, verdict: str) -> None:
    made = row(
        "guaranteed", "E1", "recovery", "s", paper="160", bar=at_most(160), stretch=at_most(86),
        paper_law=[ours], improved_law=[improved],
    )  # fmt: skip
    assert made.verdict == verdict
    assert (made.bar, made.stretch) == ("≤ 160", "≤ 86")
    assert at_least(3).holds(3)
