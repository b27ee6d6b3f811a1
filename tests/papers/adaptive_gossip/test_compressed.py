"""A compressed run is the same run: the same load per round and buffer."""

from __future__ import annotations

import msgspec
import pytest
from penstock.papers.adaptive_gossip.compressed import compressed
from penstock.papers.adaptive_gossip.live_rows import stormy_scenario
from penstock.papers.adaptive_gossip.scenario import GossipScenario

from penstock.papers.adaptive_gossip.experiments import dynamic


def in_a_round_and_buffer(scenario: GossipScenario, rate_msgs_per_s: float) -> float:
    return rate_msgs_per_s * scenario.period_s / scenario.parameters.buffer_events


def test_load_and_buffers_keep_their_proportions() -> None:
    whole = dynamic("improved")
    small = compressed(whole)
    assert small.period_s == 0.1
    assert [change.buffer_events for change in small.changes] == [15, 20]
    for rate in (
        lambda scenario: scenario.offered_msgs_per_s,
        lambda scenario: scenario.parameters.adaptation.initial_rate_msgs_per_s,
        lambda scenario: scenario.parameters.adaptation.lowest_rate_msgs_per_s,
    ):
        expected = in_a_round_and_buffer(whole, rate(whole))
        assert in_a_round_and_buffer(small, rate(small)) == pytest.approx(expected)
    assert small.parameters.datagram_bytes == 1400


def test_a_file_may_set_longer_rounds() -> None:
    whole = msgspec.structs.replace(dynamic("improved"), live_period_s=1.0)
    small = compressed(whole)
    assert small.period_s == 1.0
    assert small.offered_msgs_per_s == pytest.approx(20.0 * 5 / 3)


def test_a_scenario_with_short_rounds_is_not_changed() -> None:
    small = compressed(dynamic("paper"))
    assert compressed(small) == small


def test_the_storm_is_the_dynamic_run_with_loss_and_churn() -> None:
    storm = stormy_scenario()
    assert (storm.loss, storm.churn.share if storm.churn else None) == (0.2, 0.1)
    assert [change.buffer_events for change in storm.changes] == [15, 20]
