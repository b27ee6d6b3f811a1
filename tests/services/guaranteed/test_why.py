"""What slows a pubend down, as JSON."""

from __future__ import annotations

import msgspec

from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.laws.rate_law import AlertReading
from penstock.services.guaranteed.messages import UpstreamCongestionAlert
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.source.holds import Holds
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.why import Explanation, explain
from penstock.services.guaranteed.why_text import why_text

START = 100 * SECOND


def pubend() -> Pubend:
    made = Pubend(
        "p",
        GuaranteedParameters(),
        Tokens(),
        log_bounds=None,
        saved_producers=None,
        holds=Holds(),
        query_phase=0.0,
        now=START,
    )
    for tick in range(START, START + SECOND, 100 * MILLISECOND):
        made.control.published(tick, 10, 1000, tick)
    return made


def explained(pubend: Pubend, now: int) -> Explanation:
    return msgspec.json.decode(explain(pubend, "pb", now), type=Explanation)


def test_a_pubend_that_nothing_slows_down_says_so() -> None:
    account = explained(pubend(), START + SECOND)

    assert (account.pubend, account.broker) == ("p", "pb")
    assert not account.throttled
    assert account.allowed_msgs_per_s == 0.0
    assert account.observed_msgs_per_s == 100.0
    assert account.bottleneck_broker == ""
    assert account.changes == []


def test_a_throttled_pubend_names_broker_link_rule_and_since_when() -> None:
    made = pubend()
    reading = AlertReading(0.5, "sb", 0.5, START + SECOND, "ib->sb", 4096)
    for query, at in enumerate((START + SECOND // 2, START + SECOND)):
        alert = UpstreamCongestionAlert("p", START, query, reading, None)
        made.control.alert(alert, START + SECOND, at)
    account = explained(made, START + 3 * SECOND)

    assert account.throttled
    assert account.allowed_msgs_per_s == 50.0
    assert (account.since, account.for_s) == (START + SECOND, 2.0)
    assert (account.bottleneck_broker, account.bottleneck_link) == ("sb", "ib->sb")
    assert (account.rule, account.rule_code) == ("match the slowest edge", "match")
    assert "broker sb falls behind" in account.cause
    assert not account.recovering
    assert [change.allowed_msgs_per_s for change in account.changes] == [50.0]
    assert [change.bottleneck_link for change in account.changes] == ["ib->sb"]


def test_the_explanation_and_the_notice_name_the_same_bottleneck() -> None:
    made = pubend()
    live = AlertReading(0.5, "sb1", 0.5, START + SECOND, "ib->sb1", 4096)
    recovering = AlertReading(0.3, "sb2", 0.3, START, "ib->sb2", 10)
    alert = UpstreamCongestionAlert("p", START, 0, live, recovering)
    made.control.alert(alert, START + SECOND, START + SECOND)
    notice = made.control.notice(START + SECOND)
    account = explained(made, START + SECOND)

    assert (notice.bottleneck_broker, notice.bottleneck_link) == ("sb2", "ib->sb2")
    assert (account.bottleneck_broker, account.bottleneck_link) == ("sb2", "ib->sb2")
    assert (account.rule, account.cause) == (notice.rule, notice.cause)
    assert account.rule_code == notice.rule_code == "share"


def test_a_recovery_is_told_as_one() -> None:
    made = pubend()
    reading = AlertReading(1.5, "sb", 1.5, START + SECOND // 2)
    made.control.alert(
        UpstreamCongestionAlert("p", START, 0, None, reading), START + SECOND, START + SECOND
    )

    assert explained(made, START + SECOND).recovering


def test_a_broker_without_a_processor_says_so_and_blames_no_link() -> None:
    document = msgspec.json.decode(explain(pubend(), "pb", START + SECOND, SECOND // 2))
    assert document["processor_busy"]
    text = why_text(document)
    assert text.startswith("p: nothing is congested; it publishes 100 msg/s")
    assert "this broker was up to 0.5 s late in the last seconds: its processor is busy" in text


def test_a_broker_that_is_woken_in_time_does_not_speak_of_its_processor() -> None:
    text = why_text(msgspec.json.decode(explain(pubend(), "pb", START + SECOND, SECOND // 50)))
    assert "nothing slows it down" in text
    assert "processor" not in text
