from __future__ import annotations

from penstock.services.guaranteed.laws.rate_law import AlertReading, Verdict
from penstock.services.guaranteed.source.throttle_cause import (
    NO_CAUSE,
    ThrottleCause,
    throttle_cause,
)

LIVE = AlertReading(0.5, "sb1", 0.5, 0, "ib->sb1", 900)


def test_the_cause_is_the_edge_of_the_verdict_and_its_fullest_link() -> None:
    cause = throttle_cause(Verdict(LIVE, recovering=False))

    assert cause == ThrottleCause("sb1", "ib->sb1", 900, 0.5, recovering=False)
    assert cause.sentence == (
        "broker sb1 falls behind at 0.50 ticks/tick; link ib->sb1 has 900 bytes waiting"
    )


def test_without_a_queued_link_only_the_broker_is_named() -> None:
    cause = throttle_cause(Verdict(AlertReading(1.5, "sb2", 1.5, 0), recovering=True))

    assert cause.sentence == "broker sb2 is recovering at 1.50 ticks/tick"


def test_without_a_verdict_there_is_no_cause() -> None:
    assert throttle_cause(None) == NO_CAUSE
    assert NO_CAUSE.sentence == ""
