"""The measures of a sender: in small groups there are never many copies to count."""

from __future__ import annotations

from random import Random

import pytest

from penstock.services.gossip.laws.adaptation import Adaptation
from penstock.services.gossip.laws.choice import chosen_law
from penstock.services.gossip.parameters import GossipParameters

PARAMETERS = GossipParameters(law="improved")


def after_rounds(rounds: int, *, members: int, dropping: bool = False) -> Adaptation:
    """A sender that always wants more, and of whose events nobody sends a copy back."""
    made = Adaptation(PARAMETERS, chosen_law(PARAMETERS, Random(2)), 1, Random(1))
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


def test_copies_are_the_laws_target_until_something_arrives() -> None:
    adaptation = after_rounds(0, members=9)
    assert adaptation.copies == adaptation.steering.copies_target

    adaptation.published(10)
    adaptation.arrived(25, [])

    assert adaptation.copies == pytest.approx(2.5)


def test_drops_move_the_average_age() -> None:
    adaptation = after_rounds(0, members=9)
    assert adaptation.average_age == 6.0

    adaptation.would_drop([1])

    assert adaptation.average_age == pytest.approx(0.8 * 6.0 + 0.2 * 1)


def test_a_smaller_own_buffer_is_the_minimum_at_once() -> None:
    adaptation = after_rounds(0, members=9)
    adaptation.resize(30)
    assert adaptation.minimum_buffer_events == 30
