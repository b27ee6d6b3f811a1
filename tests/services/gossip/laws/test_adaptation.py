"""Which estimate steers a sender: in small groups there are never many copies to count."""

from __future__ import annotations

from random import Random

from penstock.services.gossip.laws.adaptation import Adaptation
from penstock.services.gossip.parameters import GossipParameters

PARAMETERS = GossipParameters(law="improved")


def after_rounds(rounds: int, *, members: int, dropping: bool = False) -> Adaptation:
    """A sender that always wants more, and of whose events nobody sends a copy back."""
    made = Adaptation(PARAMETERS, 1, size_random=Random(1), draw_random=Random(2))
    for _ in range(rounds):
        made.published(5)
        if dropping:
            made.would_drop([0])
        made.next_round(0.0, made.rate_msgs_per_s, members)
    return made


def test_in_a_group_that_each_gossip_reaches_whole_the_rate_rises_without_copies() -> None:
    small = after_rounds(30, members=PARAMETERS.fanout)

    assert small.reaches_everybody
    assert small.rate_msgs_per_s > 2 * PARAMETERS.adaptation.initial_rate_msgs_per_s


def test_a_small_group_whose_buffers_drop_events_is_slowed() -> None:
    small = after_rounds(30, members=PARAMETERS.fanout, dropping=True)

    assert not small.reaches_everybody
    assert small.rate_msgs_per_s < PARAMETERS.adaptation.initial_rate_msgs_per_s


def test_a_larger_group_is_steered_by_copies() -> None:
    large = after_rounds(30, members=PARAMETERS.fanout + 1)

    assert not large.reaches_everybody
    assert large.rate_msgs_per_s < PARAMETERS.adaptation.initial_rate_msgs_per_s
