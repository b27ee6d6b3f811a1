"""What the service measures of itself."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.core.clock import SECOND
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.rate_law import AlertReading
from penstock.services.guaranteed.messages import (
    OpenProducer,
    Subscribe,
    UpstreamCongestionAlert,
)
from penstock.services.guaranteed.source.publisher_control import PublisherControl
from penstock.services.guaranteed.telemetry import ThrottleDetail, throttle_record


def records(brokers: Any, broker: str) -> dict[tuple[str, str], float]:
    found = brokers.nodes[broker].services["guaranteed"].records(brokers.now)
    return {(record.subject, record.metric): record.value for record in found}


def flowing(network: Any) -> Any:
    brokers = network([("pb", "sb")], {"pb": ("p",)})
    brokers.advance(3 * SECOND)
    brokers.client("alice", "sb", Subscribe("orders", "TRUE"))
    brokers.client("carol", "pb", OpenProducer("carol"))
    brokers.publish("carol", "pb", 0, "buy", "sell")
    return brokers


def test_a_pubend_is_measured_where_it_is_hosted(network: Any) -> None:
    measured = records(flowing(network), "pb")

    assert measured["p", "published_messages"] == 2
    assert measured["p", "log_bytes"] > 0
    assert measured["p", "publications_waiting"] == 0
    assert measured["p", "allowed_msgs_per_s"] == 0.0


def test_streams_and_subscriptions_are_measured_at_the_edge(network: Any) -> None:
    brokers = flowing(network)
    brokers.advance(SECOND // 4)
    measured = records(brokers, "sb")

    assert measured["orders", "delivered_messages"] == 2
    assert measured["orders", "buffered_bytes"] == 0
    assert measured["p", "recovering"] == 0.0
    assert measured["p", "nack_window_s"] == 0.1
    assert 0 < measured["p", "doubt_horizon_rate"] <= 1.5
    assert 0.2 < measured["p", "doubt_horizon_lag_s"] <= 0.25


def test_an_alert_is_measured_for_a_second(network: Any) -> None:
    brokers = flowing(network)
    control = brokers.nodes["pb"].services["guaranteed"].pubends["p"].control
    epoch = control.query_due(0, brokers.now + SECOND).epoch
    live, slow = AlertReading(0.5, "sb", 0.5, 0), AlertReading(1.5, "sb", 1.5, 0)
    control.alert(UpstreamCongestionAlert("p", epoch, 0, live, slow), 0, brokers.now)

    measured = records(brokers, "pb")
    assert measured["p", "alert_nonrecovering"] == 0.5
    assert measured["p", "alert_recovering"] == 1.5
    brokers.now += SECOND + 1
    assert ("p", "alert_nonrecovering") not in records(brokers, "pb")


def test_a_change_of_a_limit_is_recorded_with_codes() -> None:
    control = PublisherControl("p", CongestionParameters(), 0, 0.0)
    for tick in range(0, SECOND, SECOND // 10):
        control.published(tick, 10, 1000, tick)
    worst = AlertReading(0.5, "sb", 0.5, SECOND, "ib->sb", 4096)
    for query, at in enumerate((SECOND // 2, SECOND)):
        control.alert(UpstreamCongestionAlert("p", 0, query, worst, None), SECOND, at)
    record = throttle_record("pb", control, SECOND)

    assert (record.node, record.subject, record.metric) == ("pb", "p", "throttle")
    assert (record.at, record.value) == (SECOND, 50.0)
    detail = msgspec.json.decode(record.detail, type=ThrottleDetail)
    assert detail == ThrottleDetail("match", "sb", "ib->sb", 4096, 0.5, recovering=False)


def test_a_limit_that_is_removed_has_no_cause() -> None:
    record = throttle_record("pb", PublisherControl("p", CongestionParameters(), 0, 0.0), 5)

    assert record.value == 0.0
    assert msgspec.json.decode(record.detail, type=ThrottleDetail).broker == ""
