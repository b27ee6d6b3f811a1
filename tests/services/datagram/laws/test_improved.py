"""The improved law: the delay limits the rate, and steps back where others fill the queue."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.services.datagram.laws.delay_law import MOST_RISE
from penstock.services.datagram.laws.improved import DelayFirstLaw
from penstock.services.datagram.subscriber.loss_history import LossHistory

from ..conftest import NOW

ROUND_TRIP_NS = 100 * MILLISECOND


def received(law: DelayFirstLaw, delay_ns: int, start: Instant, messages: int = 30) -> Instant:
    """A hundred messages a second with this delay; returns the time of the last."""
    now = start
    for _ in range(messages):
        now += 10 * MILLISECOND
        law.arrived([delay_ns], now)
    return now


def asked(law: DelayFirstLaw, now: Instant) -> float:
    return law.allowed_rate(100.0, ROUND_TRIP_NS, LossHistory(), now)


def test_without_a_queue_and_without_losses_the_rate_is_probed() -> None:
    law = DelayFirstLaw()
    now = received(law, 10 * MILLISECOND, NOW)
    assert 100.0 < asked(law, now) <= MOST_RISE * 100.0


def test_a_queue_lowers_the_rate_before_anything_is_lost() -> None:
    law = DelayFirstLaw()
    now = received(law, 110 * MILLISECOND, received(law, 10 * MILLISECOND, NOW))
    assert asked(law, now) < 100.0


def test_the_equation_does_not_limit_while_the_delay_decides() -> None:
    law, losses = DelayFirstLaw(), LossHistory()
    now = received(law, 10 * MILLISECOND, NOW)
    losses.lost(now, ROUND_TRIP_NS, 5.0)
    assert law.allowed_rate(100.0, ROUND_TRIP_NS, losses, now) > 100.0


def test_beside_a_rival_the_equation_starts_from_the_present_rate() -> None:
    law, losses = DelayFirstLaw(), LossHistory()
    losses.lost(NOW, ROUND_TRIP_NS, 5.0)
    now = received(law, 0, NOW)
    law.allowed_rate(0.0, ROUND_TRIP_NS, losses, now)
    for _ in range(200):
        for _ in range(2):
            now += 25 * MILLISECOND
            law.arrived([150 * MILLISECOND], now)
        law.allowed_rate(40.0, ROUND_TRIP_NS, losses, now)
    assert not law.delay.in_force(now)
    fresh = DelayFirstLaw()
    fresh.delay = law.delay
    assert fresh.allowed_rate(40.0, ROUND_TRIP_NS, losses, now) == pytest.approx(40.0, rel=0.01)


def test_a_clock_that_was_set_does_not_look_like_a_queue() -> None:
    law = DelayFirstLaw()
    now = received(law, 10 * MILLISECOND, NOW)
    law.clock_was_set()
    assert asked(law, received(law, 5 * SECOND, now)) > 100.0


def test_what_rises_is_not_below_what_is_received() -> None:
    law, now = DelayFirstLaw(), 64 * SECOND
    for _ in range(60):
        now += 10 * MILLISECOND
        law.arrived([0], now)
    assert law.allowed_rate(400.0, 0, LossHistory(), now) >= 400.0
