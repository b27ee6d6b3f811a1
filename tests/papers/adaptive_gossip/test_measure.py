"""Measurements from deliveries and from the peers' records."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from penstock.papers.adaptive_gossip.measure import (
    DeliveryBook,
    GroupRecords,
    measured,
    settling_rounds,
)

from penstock.core.trace import TraceRecord
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.papers.adaptive_gossip.experiments import plain
from penstock.services.gossip.messages import Event, event_id

SCENARIO = msgspec.structs.replace(
    plain(30, 8.0), peers=4, rounds=4, warm_up_rounds=1, settle_rounds=1
)
ROUND = SCENARIO.parameters.gossip_period_ns
START = 1_000 * ROUND


def records(*rows: tuple[float, str, str, float]) -> GroupRecords:
    """Records of (round, node, metric, value); all nodes but "idle" are senders."""
    telemetry = Telemetry()
    for at_round, node, metric, value in rows:
        at = START + round(at_round * ROUND)
        telemetry.add(TraceRecord(at, node, "default", metric, value))
    nodes = {row[1] for row in rows} - {"idle"}
    return GroupRecords(telemetry, nodes, START)


def test_an_allowed_rate_holds_until_the_next_record_and_ends_with_the_last() -> None:
    found = records(
        (0.5, "a", "allowed_msgs_per_s", 1.0),
        (2.5, "a", "allowed_msgs_per_s", 3.0),
        (2.9, "a", "allowed_msgs_per_s", 4.0),
        (3.1, "a", "allowed_msgs_per_s", 5.0),
        (-0.5, "b", "allowed_msgs_per_s", 10.0),
        (0.4, "b", "allowed_msgs_per_s", 20.0),
        (0.4, "idle", "allowed_msgs_per_s", 99.0),
    )
    assert found.allowed_by_round(SCENARIO).tolist() == [21.0, 1.0, 4.0, 5.0]


def test_the_age_of_drops_excludes_the_warm_up() -> None:
    found = records(
        (0.5, "a", "dropped_events", 10.0),
        (3.5, "a", "dropped_events", 30.0),
        (0.5, "a", "dropped_event_ages", 20.0),
        (3.5, "a", "dropped_event_ages", 120.0),
        (2.5, "b", "dropped_events", 5.0),
        (2.5, "b", "dropped_event_ages", 50.0),
    )
    assert found.drop_age(SCENARIO) == pytest.approx((100 + 50) / (20 + 5))
    assert np.isnan(records((0.5, "a", "dropped_events", 0.0)).drop_age(SCENARIO))


def test_receivers_and_atomic_deliveries_are_those_of_the_measured_rounds() -> None:
    book = DeliveryBook()
    for sequence, (round_number, others) in enumerate([(0, 0), (1, 3), (2, 1), (3, 0)]):
        event = Event(event_id(1, sequence), b"")
        book.published(event.id, round_number, 4)
        for _ in range(others):
            book.delivered([event])
    result = measured(SCENARIO, 1, book, records((0.5, "a", "group_size", 4.0)))
    assert result.receivers == pytest.approx((1.0 + 0.5) / 2)
    assert result.atomic == 0.5
    assert result.input_rate_msgs_per_s == pytest.approx(1 / 5)
    assert result.receivers_by_round == (0.25, 1.0, 0.5, 0.25)
    assert result.group_size == 4.0
    assert book.most_receivers == 4


def test_a_rate_has_settled_when_it_stays_near_its_level() -> None:
    falling = [20.0 - number for number in range(10)] + [10.0] * 90
    assert 8 <= settling_rounds(falling) <= 12
    assert settling_rounds([10.0] * 100) == 0.0
    late = [10.0] * 60 + [12.0] * 5 + [10.0] * 35
    assert settling_rounds(late) > 60
