"""The jitter of a path."""

from __future__ import annotations

from random import Random

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.datagram.laws.jitter import SMOOTHING, PathJitter

WINDOW_NS = 60 * SECOND


@pytest.mark.parametrize("width_ms", [4, 30])
def test_the_jitter_is_a_third_of_the_width_or_less(width_ms: int) -> None:
    jitter, random = PathJitter(WINDOW_NS), Random(1)
    for step in range(600):
        jitter.arrived(random.randrange(width_ms * MILLISECOND), step * MILLISECOND)
    assert 0.4 < 3 * jitter.least_ns / (width_ms * MILLISECOND) <= 1


def test_a_queue_that_comes_and_goes_is_no_jitter_after_a_calm_time() -> None:
    jitter = PathJitter(WINDOW_NS)
    for _ in range(SMOOTHING + 1):
        jitter.arrived(0, 0)
    for step in range(40):
        jitter.arrived(step % 2 * 50 * MILLISECOND, step)
    assert jitter.least_ns == 0


def test_nothing_is_known_of_a_few_messages_or_across_a_clock_that_was_set() -> None:
    jitter = PathJitter(WINDOW_NS)
    for step in range(SMOOTHING):
        jitter.arrived(step % 2 * MILLISECOND, 0)
    assert jitter.least_ns == 0
    jitter.clock_was_set()
    for _ in range(2):
        jitter.arrived(3600 * SECOND, 0)
    assert jitter.least_ns < MILLISECOND
