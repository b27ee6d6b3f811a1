from __future__ import annotations

from penstock.core.clock import SECOND
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
        "broker sb1 falls behind: in a second it gets 0.50 s of the stream; 0.9 kB wait on link "
        "ib->sb1"
    )


def test_without_a_queued_link_only_the_broker_is_named() -> None:
    cause = throttle_cause(Verdict(AlertReading(1.5, "sb2", 1.5, 0), recovering=True))

    assert cause.sentence == "broker sb2 catches up at 1.5 times live speed"


def test_without_a_verdict_there_is_no_cause() -> None:
    assert throttle_cause(None) == NO_CAUSE
    assert NO_CAUSE.sentence == ""


def test_an_edge_that_does_not_complain_any_more_is_named_as_past_and_no_link_is_blamed() -> None:
    cause = throttle_cause(Verdict(LIVE, recovering=False)).past(12 * SECOND)

    assert cause.link == ""
    assert cause.sentence == "broker sb1 fell behind until 12 s ago; nothing is congested now"


def test_a_full_link_is_told_with_what_it_takes_and_what_waits() -> None:
    cause = ThrottleCause(broker="b", link="a->b", link_bytes=19_000, link_bytes_per_s=97_300.0)

    assert cause.sentence == ("link a->b is full: it takes 97 kB/s of this pubend, and 19 kB wait")
