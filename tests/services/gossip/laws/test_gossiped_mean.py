"""One voice counts only so far as it is credible."""

from __future__ import annotations

import pytest

from penstock.services.gossip.laws.gossiped_mean import GossipedMean


def test_the_first_word_is_believed_and_ones_own_is_mixed_in() -> None:
    mean = GossipedMean(0.5, 0.0)
    mean.heard(3.0, 1.0)
    mean.next_round(None)
    assert mean.value == pytest.approx(3.0)
    mean.next_round(1.0)
    assert 1.0 < mean.value < 3.0


def test_a_forged_value_counts_at_most_twice_what_is_known() -> None:
    mean = GossipedMean(1.0, 1.0)
    mean.heard(1e9, 1e9)
    mean.next_round(None)
    assert mean.value <= 2.0
    assert mean.weight <= 1.0


def test_nothing_heard_changes_nothing_but_the_weight() -> None:
    mean = GossipedMean(0.7, 1.0)
    for _ in range(100):
        mean.next_round(None)
    assert mean.value == pytest.approx(0.7)
    assert mean.weight == 0.0
