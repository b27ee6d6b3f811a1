"""Parameters: ranges are checked, and rates follow the length of a round."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.services.gossip.parameters import AdaptationParameters, GossipParameters


def test_the_defaults_are_in_their_ranges() -> None:
    assert GossipParameters().checked() == GossipParameters()


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        (GossipParameters(fanout=0), "fanout"),
        (GossipParameters(datagram_bytes=70_000), "datagram_bytes"),
        (GossipParameters(group="g" * 65), "group"),
        (GossipParameters(known_events=10), "known_events"),
        (GossipParameters(adaptation=AdaptationParameters(average_weight=2.0)), "average_weight"),
        (GossipParameters().with_period(0.0), "gossip_period_ns"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(parameters: GossipParameters, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        parameters.checked()


def test_a_round_of_another_length_carries_as_much() -> None:
    usual, quick = GossipParameters(), GossipParameters().with_period(0.1)
    assert quick.gossip_period_ns == SECOND // 10
    for rate in ("initial_rate_msgs_per_s", "lowest_rate_msgs_per_s"):
        in_a_round = 5.0 * getattr(usual.adaptation, rate)
        assert 0.1 * getattr(quick.adaptation, rate) == pytest.approx(in_a_round)
    assert quick.with_period(5.0).adaptation.initial_rate_msgs_per_s == pytest.approx(0.5)
