from __future__ import annotations

from penstock.services.guaranteed.laws.rate_law import AlertReading, Reading
from penstock.services.guaranteed.source.throttle_cause import (
    NO_CAUSE,
    ThrottleCause,
    throttle_cause,
)

LIVE = AlertReading(0.5, "sb1", 0.5, 0, "ib->sb1", 900)


def test_the_cause_is_the_edge_of_the_alert_and_its_fullest_link() -> None:
    cause = throttle_cause(Reading(0, LIVE, None))

    assert cause == ThrottleCause("sb1", "ib->sb1", 900, 0.5, recovering=False)
    assert cause.sentence == (
        "broker sb1 falls behind at 0.50 ticks/tick; link ib->sb1 has 900 bytes waiting"
    )


def test_the_slower_of_a_live_and_a_recovering_edge_is_the_cause() -> None:
    slower, faster = AlertReading(0.3, "sb2", 0.3, 0), AlertReading(1.5, "sb2", 1.5, 0)

    assert throttle_cause(Reading(0, LIVE, slower)) == ThrottleCause(
        "sb2", rate=0.3, recovering=True
    )
    assert throttle_cause(Reading(0, LIVE, faster)).broker == "sb1"


def test_of_equal_rates_the_live_edge_is_the_cause() -> None:
    equal = AlertReading(0.5, "sb2", 0.5, 0)

    assert throttle_cause(Reading(0, LIVE, equal)).broker == "sb1"


def test_without_a_queued_link_only_the_broker_is_named() -> None:
    cause = throttle_cause(Reading(0, None, AlertReading(1.5, "sb2", 1.5, 0)))

    assert cause.sentence == "broker sb2 is recovering at 1.50 ticks/tick"


def test_an_empty_alert_has_no_cause() -> None:
    assert throttle_cause(Reading(0, None, None)) == NO_CAUSE
    assert NO_CAUSE.sentence == ""
