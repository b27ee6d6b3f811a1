"""PDCC at a pubend: queries, the gate, and the account of why."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.rate_law import AlertReading
from penstock.services.guaranteed.messages import UpstreamCongestionAlert
from penstock.services.guaranteed.source.publisher_control import KEPT_CHANGES, PublisherControl
from penstock.services.guaranteed.source.throttle_cause import NO_CAUSE, ThrottleCause

EPOCH = 5 * SECOND


def control(phase: float = 0.0, **changes: object) -> PublisherControl:
    parameters = CongestionParameters(**{"law": "paper", **changes})  # type: ignore[arg-type]
    return PublisherControl("p", parameters, EPOCH, phase)


def publish(control: PublisherControl, begin: int, end: int, rate: int = 400) -> None:
    for tick in range(begin, end, 100 * MILLISECOND):
        control.published(tick, rate // 10, 1000, tick)


def alert(
    sequence: int, rate: float | None = 0.5, recovering: float | None = None, epoch: int = EPOCH
) -> UpstreamCongestionAlert:
    live = None if rate is None else AlertReading(rate, "sb1", rate, 0, "ib->sb1", 900)
    slow = None if recovering is None else AlertReading(recovering, "sb2", recovering, 0)
    return UpstreamCongestionAlert("p", epoch, sequence, live, slow)


def test_a_query_is_due_once_in_the_interval_and_numbered() -> None:
    pubend = control()
    asked = [
        (now, query.sequence, query.position, query.epoch)
        for now in range(EPOCH, EPOCH + 3 * SECOND, SECOND // 4)
        if (query := pubend.query_due(now + 1, now)) is not None
    ]

    assert asked == [
        (EPOCH + number * SECOND, number, EPOCH + number * SECOND + 1, EPOCH) for number in range(3)
    ]


def test_pubends_of_a_broker_ask_one_after_another() -> None:
    assert control(0.25).next_deadline(waiting=False) == EPOCH + SECOND // 4


def test_an_alert_limits_the_gate_and_says_why() -> None:
    pubend = control()
    publish(pubend, EPOCH, EPOCH + SECOND)
    pubend.query_due(EPOCH, EPOCH)
    now = EPOCH + SECOND

    assert pubend.alert(alert(0), now, now)
    assert pubend.limit_msgs_per_s == 200.0
    assert pubend.since == now
    notice = pubend.notice(now)
    assert (notice.pubend, notice.allowed_msgs_per_s, notice.since) == ("p", 200.0, now)
    assert notice.observed_msgs_per_s == 400.0
    assert (notice.rule, notice.rule_code) == ("PDCC decrease (equation 2)", "pdcc-decrease")
    assert (notice.bottleneck_broker, notice.bottleneck_link) == ("sb1", "ib->sb1")
    assert notice.cause == (
        "broker sb1 falls behind: in a second it gets 0.50 s of the stream; 0.9 kB wait on link "
        "ib->sb1"
    )


def test_the_cause_is_the_slower_of_a_live_and_a_recovering_edge() -> None:
    pubend = control()
    publish(pubend, EPOCH, EPOCH + SECOND)
    pubend.alert(alert(0, 0.5, 0.3), EPOCH, EPOCH + SECOND)

    assert pubend.cause == ThrottleCause("sb2", rate=0.3, recovering=True)


def test_since_tells_when_the_limit_began_and_not_when_it_last_changed() -> None:
    pubend = control()
    publish(pubend, EPOCH, EPOCH + 2 * SECOND)
    pubend.alert(alert(0, 0.5), EPOCH, EPOCH + SECOND)
    pubend.alert(alert(1, 0.4), EPOCH, EPOCH + 2 * SECOND)

    assert pubend.since == EPOCH + SECOND
    assert len(pubend.changes) == 2


def test_an_alert_of_an_earlier_start_of_the_pubend_is_ignored() -> None:
    pubend = control()
    publish(pubend, EPOCH, EPOCH + SECOND)

    assert not pubend.alert(alert(0, epoch=EPOCH - 1), EPOCH, EPOCH + SECOND)
    assert pubend.limit_msgs_per_s is None
    assert pubend.last_alert is None


def test_without_pdcc_there_are_no_queries_and_no_limit() -> None:
    pubend = control(pdcc=False)

    assert pubend.query_due(EPOCH, EPOCH + 60 * SECOND) is None
    assert pubend.next_deadline(waiting=True) is None
    assert not pubend.alert(alert(0), EPOCH, EPOCH)
    assert not pubend.elapse(EPOCH, True, EPOCH)


def test_the_gate_is_a_deadline_only_while_publications_wait() -> None:
    pubend = control(query_interval_ns=3600 * SECOND)
    publish(pubend, EPOCH, EPOCH + SECOND)
    now = EPOCH + SECOND
    pubend.query_due(EPOCH, EPOCH)
    pubend.alert(alert(0), EPOCH, now)
    pubend.published(now, 100, 1000, now)

    assert pubend.next_deadline(waiting=True) == now + SECOND // 2
    assert pubend.next_deadline(waiting=False) == EPOCH + 3600 * SECOND


@pytest.mark.parametrize("law", ["paper", "improved"])
def test_the_changes_that_are_kept_are_bounded(law: str) -> None:
    pubend = control(law=law)
    publish(pubend, EPOCH, EPOCH + SECOND)
    for number in range(100):
        now = EPOCH + (1 + number) * SECOND
        publish(pubend, now, now + SECOND)
        pubend.query_due(now, now)
        pubend.alert(alert(number), EPOCH, now)
        pubend.elapse(EPOCH, True, now)

    assert len(pubend.changes) == KEPT_CHANGES
    assert pubend.changes[-1].allowed_msgs_per_s == pubend.limit_msgs_per_s


def test_when_the_limit_is_dropped_there_is_no_cause_any_more() -> None:
    pubend = control(law="improved")
    publish(pubend, EPOCH, EPOCH + SECOND)
    now = EPOCH + SECOND
    pubend.alert(alert(0), now, now)
    assert pubend.cause.broker == "sb1"

    assert pubend.elapse(now, False, now + 10 * SECOND)
    assert pubend.limit_msgs_per_s is None
    assert pubend.cause == NO_CAUSE
    assert pubend.notice(now).allowed_msgs_per_s == 0.0
