"""The improved law: the delay limits the rate, and steps back where others fill the queue."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.services.datagram.laws.delay_law import PROBE
from penstock.services.datagram.laws.equation import allowed_rate
from penstock.services.datagram.laws.improved import DelayFirstLaw
from penstock.services.datagram.subscriber.loss_history import LossHistory

from ..conftest import NOW

ROUND_TRIP_NS = 100 * MILLISECOND


def repeated_losses(law: DelayFirstLaw) -> Instant:
    """Losses a few seconds apart, as other traffic causes them; returns the time of the last."""
    law.loss_event(NOW)
    law.loss_event(NOW + 3 * SECOND)
    return NOW + 3 * SECOND


def test_without_a_queue_and_without_losses_the_rate_is_probed() -> None:
    law = DelayFirstLaw()
    law.arrived([10 * MILLISECOND], NOW)
    assert law.allowed_rate(100.0, ROUND_TRIP_NS, LossHistory(), NOW) == PROBE * 100.0


def test_a_queue_lowers_the_rate_before_anything_is_lost() -> None:
    law = DelayFirstLaw()
    law.arrived([10 * MILLISECOND], NOW)
    later = NOW + SECOND
    for number in range(4):
        law.arrived([110 * MILLISECOND], later + number * 30 * MILLISECOND)
    assert law.allowed_rate(100.0, ROUND_TRIP_NS, LossHistory(), later + SECOND // 5) < 100.0


def test_the_equation_limits_beside_the_delay() -> None:
    law, losses = DelayFirstLaw(), LossHistory()
    law.arrived([10 * MILLISECOND], NOW)
    losses.lost(NOW, ROUND_TRIP_NS, 20.0)
    expected = allowed_rate(1 / 20, ROUND_TRIP_NS)
    assert expected < 100.0
    assert law.allowed_rate(100.0, ROUND_TRIP_NS, losses, NOW) == expected


def test_where_others_fill_the_queue_the_equation_starts_from_the_present_rate() -> None:
    law, losses = DelayFirstLaw(), LossHistory()
    losses.lost(NOW, ROUND_TRIP_NS, 5.0)
    now = repeated_losses(law)
    assert not law.delay.in_force(now)
    assert law.allowed_rate(80.0, ROUND_TRIP_NS, losses, now) == pytest.approx(80.0, rel=0.01)
    losses.lost(now + SECOND, ROUND_TRIP_NS, 1.0)
    after = law.allowed_rate(80.0, ROUND_TRIP_NS, losses, now + SECOND)
    assert after < 79.0, "later losses count: the history starts again only once"


def test_a_clock_that_was_set_does_not_look_like_a_queue() -> None:
    law = DelayFirstLaw()
    law.arrived([10 * MILLISECOND], NOW)
    law.clock_was_set()
    law.arrived([5 * SECOND], NOW + SECOND)
    assert law.allowed_rate(100.0, ROUND_TRIP_NS, LossHistory(), NOW + SECOND) == PROBE * 100.0
