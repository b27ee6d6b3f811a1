"""What every law shows before anything was measured."""

from __future__ import annotations

import pytest

from penstock.services.gossip.laws.improved_rate import copies_needed
from penstock.services.gossip.laws.law import initial_steering
from penstock.services.gossip.parameters import AdaptationParameters


def test_a_new_peer_reports_its_initial_rate_without_weight_and_the_receipts_that_it_wants() -> (
    None
):
    parameters = AdaptationParameters()
    steering = initial_steering(parameters)
    assert (steering.low_age_mark, steering.high_age_mark) == (5.0, 7.0)
    assert steering.copies_target == pytest.approx(float(copies_needed(0.96)))
    assert (steering.mean_rate_msgs_per_s, steering.mean_rate_weight) == (0.5, 0.0)
    assert (steering.receipt, steering.receipt_weight) == (0.96, 1.0)
