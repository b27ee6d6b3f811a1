"""The improved law."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.services.datagram.laws.delay_law import (
    ALONE_NS,
    DRAIN_FOR_NS,
    FIRST_REFRESH_NS,
    LEAST_PART,
    PERSISTENT_NS,
    PROBE,
    STANDING_NS,
    STEP_MSGS_PER_S,
    TARGET_NS,
    DelayLaw,
    Least,
)

STEP_NS = 50 * MILLISECOND


def law_with_delay(queueing: int, offset: int = 0) -> DelayLaw:
    """A law that has seen an empty queue, and then this delay for a while."""
    law = DelayLaw()
    law.arrived([offset], SECOND)
    for step in range(60):
        law.arrived([offset + queueing], SECOND + (step + 1) * MILLISECOND)
    return law


@given(st.integers(-(10**18), 10**18))
@settings(deadline=None)
def test_the_clocks_difference_does_not_matter(offset: int) -> None:
    assert law_with_delay(40 * MILLISECOND, offset).queueing_ns == 40 * MILLISECOND


def test_without_a_queue_the_rate_rises() -> None:
    assert law_with_delay(0).allowed_rate(100.0, 2 * SECOND) == PROBE * 100.0


def test_a_long_queue_lowers_the_rate_and_a_short_one_does_not() -> None:
    assert law_with_delay(8 * TARGET_NS).allowed_rate(150.0, 2 * SECOND) < 150.0
    assert law_with_delay(TARGET_NS).allowed_rate(150.0, 2 * SECOND) > 150.0


@given(st.floats(1.0, 1000.0), st.floats(1.0, 1000.0))
@settings(deadline=None)
def test_of_two_flows_the_larger_shrinks_by_the_larger_part(first: float, second: float) -> None:
    law = law_with_delay(5 * TARGET_NS)
    small, large = sorted((first, second))
    parts = [law.allowed_rate(each, 2 * SECOND) / each for each in (small, large)]
    assert parts[0] >= parts[1] - 1e-9


@given(st.floats(0.0, 1e6), st.integers(0, 100 * SECOND))
@settings(deadline=None)
def test_a_rate_is_never_negative(rate: float, queueing: int) -> None:
    assert law_with_delay(queueing).allowed_rate(rate, 2 * SECOND) >= 0.0


def test_a_thick_flow_gains_a_step_and_a_thin_one_less() -> None:
    def gained(rate: float) -> float:
        return law_with_delay(TARGET_NS).allowed_rate(rate, 2 * SECOND) - rate

    assert gained(150.0) == pytest.approx(STEP_MSGS_PER_S)
    assert gained(5.0) == pytest.approx(0.43, abs=0.01)


def test_a_burst_is_no_standing_queue() -> None:
    law = law_with_delay(0)
    law.arrived([50 * MILLISECOND], SECOND + 61 * MILLISECOND)
    assert law.queueing_ns == 0


def test_losses_that_go_on_give_the_word_to_the_papers_law() -> None:
    law = DelayLaw()
    law.loss_event(SECOND)
    assert law.in_force(SECOND)
    law.loss_event(4 * SECOND)
    assert not law.in_force(4 * SECOND)
    assert law.in_force(4 * SECOND + ALONE_NS)


def test_the_losses_of_one_congestion_do_not() -> None:
    law = DelayLaw()
    for at in (0, 200, 400, 600):
        law.loss_event(SECOND + at * MILLISECOND)
    assert law.in_force(2 * SECOND)


def test_a_clock_that_was_set_starts_the_delay_anew() -> None:
    law = law_with_delay(40 * MILLISECOND)
    law.clock_was_set()
    law.arrived([3600 * SECOND], 2 * SECOND)
    assert law.queueing_ns == 0


@given(st.lists(st.integers(-1000, 1000), min_size=1))
def test_the_least_is_of_this_block_and_the_one_before(values: list[int]) -> None:
    least = Least(10)
    for at, value in enumerate(values):
        found = least.of(value, at)
        assert min(values[max(0, at - 21) : at + 1]) <= found
        assert found <= min(values[max(0, at - 9) : at + 1])


def test_who_has_not_seen_the_queue_empty_drains_it_and_returns() -> None:
    law = law_with_delay(40 * MILLISECOND)
    begun = SECOND + FIRST_REFRESH_NS + MILLISECOND
    assert law.allowed_rate(100.0, begun) == 50.0
    assert law.allowed_rate(50.0, begun + DRAIN_FOR_NS // 2) == 50.0
    assert law.allowed_rate(50.0, begun + DRAIN_FOR_NS) == 100.0
    assert law.allowed_rate(100.0, begun + FIRST_REFRESH_NS + MILLISECOND) != 50.0
    assert law.allowed_rate(100.0, begun + 2 * FIRST_REFRESH_NS + MILLISECOND) == 50.0


def decide(law: DelayLaw, rates: Sequence[float], queueing: Sequence[int], now: Instant) -> Instant:
    """Decisions 50 ms apart; the delay of each is seen before it, and the queue is never empty."""
    for rate, delay in zip(rates, queueing, strict=True):
        now += STEP_NS
        law.arrived([delay], now)
        law.allowed_rate(rate, now)
    return now


HIGH_NS = 90 * MILLISECOND
STEPS = PERSISTENT_NS // STEP_NS


def test_who_gives_way_in_vain_gives_the_word_to_the_papers_law() -> None:
    law = law_with_delay(HIGH_NS)
    now = decide(law, [200.0] * STEPS, [HIGH_NS] * STEPS, SECOND)
    assert law.in_force(now)
    now = decide(law, [80.0] * (STEPS + 2), [HIGH_NS] * (STEPS + 2), now)
    assert not law.in_force(now)


def test_a_link_that_loses_half_of_its_capacity_is_nobody_else() -> None:
    law = law_with_delay(HIGH_NS)
    now = decide(law, [200.0] * STEPS, [HIGH_NS] * STEPS, SECOND)
    now = decide(law, [90.0] * STEPS, [HIGH_NS // 3] * STEPS, now)
    assert law.in_force(now)


def test_a_queue_that_drains_for_a_moment_does_not_begin_another_episode() -> None:
    law = law_with_delay(HIGH_NS)
    now = decide(law, [200.0], [HIGH_NS], SECOND)
    now = decide(law, [80.0] * 4, [TARGET_NS] * 4, now)
    for _ in range(3):
        now += STANDING_NS + 1
        law.arrived([HIGH_NS], now)
    assert law.allowed_rate(80.0, now) >= LEAST_PART * 200.0


def test_flows_drain_the_queue_of_a_link_that_has_lost_half_of_its_capacity() -> None:
    share, scattered = 149.0, 1.1
    law = law_with_delay(HIGH_NS)
    now = decide(law, [scattered * share], [HIGH_NS], SECOND)
    now = decide(law, [share / 2] * 2, [2 * HIGH_NS] * 2, now)
    assert law.allowed_rate(share / 2, now) < 0.95 * share / 2


def test_who_has_come_down_to_its_share_takes_the_queue_of_all_for_nobody_else() -> None:
    """Three flows of 149 messages a second hold 36 ms with each other; one of them had 400."""
    law = law_with_delay(HIGH_NS // 2)
    now = decide(law, [400.0], [HIGH_NS // 2], SECOND)
    steps = 2 * STEPS
    now = decide(law, [155.0] * steps, [36 * MILLISECOND] * steps, now)
    assert law.in_force(now)


def test_a_crowd_that_does_not_fill_the_queue_again_is_nobody_else() -> None:
    law = law_with_delay(3 * HIGH_NS)
    steps = 3 * STEPS
    now = decide(law, [200.0], [3 * HIGH_NS], SECOND)
    now = decide(law, [80.0] * steps, [HIGH_NS] * steps, now)
    assert law.in_force(now)
