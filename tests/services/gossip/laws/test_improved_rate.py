"""The improved law: fixed point, directions, bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.services.gossip.laws.improved_rate import (
    HIGHEST_YIELD,
    LARGEST_CORRECTION,
    LARGEST_STEP,
    LOWEST_YIELD,
    copies_for_each_event,
    copies_needed,
    copies_target,
    improved_rate,
    is_held_back,
    mixed,
    observed_yield,
    share_reached,
    with_own,
)
from penstock.services.gossip.parameters import AdaptationParameters

PARAMETERS = AdaptationParameters()


def law(
    rate: float, copies: float, target: float, *, tokens: float = 0.0, used: float = 1.0
) -> float:
    return float(
        improved_rate(
            rate,
            copies=copies,
            target=target,
            average_tokens=tokens,
            used_rate_msgs_per_s=used,
            mean_rate_msgs_per_s=rate,
            parameters=PARAMETERS,
        )
    )


def test_the_theory_needs_3_15_copies_for_95_percent() -> None:
    assert float(copies_needed(0.95)) == pytest.approx(3.153, abs=0.001)
    share, copies = 0.9, 3.153
    for _ in range(200):
        share = 1 - np.exp(-copies * share)
    assert share == pytest.approx(0.95, abs=0.001)


def test_the_rate_rests_at_the_target_and_moves_towards_it() -> None:
    assert law(1.0, 3.3, 3.3) == pytest.approx(1.0)
    assert law(1.0, 4.0, 3.3) > 1.0
    assert law(1.0, 2.8, 3.3) < 1.0


@given(
    st.floats(0.1, 100), st.floats(0, 50), st.floats(2.6, 6), st.floats(0, 10), st.floats(0, 1000)
)
def test_a_round_changes_little(
    rate: float, copies: float, target: float, tokens: float, used: float
) -> None:
    changed = law(rate, copies, target, tokens=tokens, used=used) / rate
    assert 1 / LARGEST_STEP - 1e-9 <= changed <= LARGEST_STEP + 1e-9


@given(st.floats(0.1, 100), st.floats(0, 1e9), st.floats(0, 50))
def test_whatever_the_mean_is_said_to_be_a_round_changes_a_bounded_part(
    rate: float, mean: float, copies: float
) -> None:
    changed = improved_rate(
        rate,
        copies=copies,
        target=3.3,
        average_tokens=0.0,
        used_rate_msgs_per_s=rate,
        mean_rate_msgs_per_s=mean,
        parameters=PARAMETERS,
    )
    assert 0.9 * rate / LARGEST_STEP - 1e-9 <= changed <= 1.2 * rate * LARGEST_STEP + 1e-9


@pytest.mark.parametrize("begin", [10.0, 0.1])
@pytest.mark.parametrize(
    ("copies", "settled"), [(9.0, 2.4), (3.3, 2.0), (2.97, 1.8), (0.1, 2.0 / LARGEST_CORRECTION)]
)
def test_an_unused_rate_goes_to_what_the_group_can_carry_of_its_use(
    begin: float, copies: float, settled: float
) -> None:
    """And rests there, although copies stay off their target: nothing winds up."""
    rate = begin
    for _ in range(100):
        rate = law(rate, copies, 3.3, tokens=9.0, used=2.0)
    assert rate == pytest.approx(settled)


def test_senders_become_equal() -> None:
    rates = np.array([0.2, 1.0, 3.0])
    for _ in range(60):
        rates = np.asarray(
            improved_rate(
                rates,
                copies=np.full(3, 3.3),
                target=np.full(3, 3.3),
                average_tokens=np.zeros(3),
                used_rate_msgs_per_s=rates,
                mean_rate_msgs_per_s=np.full(3, rates.mean()),
                parameters=PARAMETERS,
            )
        )
    assert rates.max() / rates.min() < 1.01


def test_senders_become_equal_while_copies_are_too_few() -> None:
    """Held-out case 60034: a sender that counts few copies by chance stayed at two thirds."""
    rates = np.array([0.8, 1.2, 1.7])
    for _ in range(60):
        rates = np.asarray(
            improved_rate(
                rates,
                copies=np.array([3.0, 3.3, 3.3]),
                target=np.full(3, 3.3),
                average_tokens=np.zeros(3),
                used_rate_msgs_per_s=rates,
                mean_rate_msgs_per_s=np.full(3, rates.mean()),
                parameters=PARAMETERS,
            )
        )
    assert rates.max() / rates.min() < 1.2


def test_nobody_rises_while_copies_are_too_few() -> None:
    rate = float(
        improved_rate(
            1.0,
            copies=3.0,
            target=3.3,
            average_tokens=0.0,
            used_rate_msgs_per_s=1.0,
            mean_rate_msgs_per_s=2.0,
            parameters=PARAMETERS,
        )
    )
    assert rate == 1.0


def test_who_wants_little_does_not_draw_the_others_down() -> None:
    """A light sender follows its use, whatever the mean is; only a held-back one moves to it."""
    assert not is_held_back(9.0, PARAMETERS)
    assert is_held_back(0.5, PARAMETERS)
    rate = 0.1
    for _ in range(50):
        rate = float(
            improved_rate(
                rate,
                copies=3.3,
                target=3.3,
                average_tokens=9.0,
                used_rate_msgs_per_s=0.1,
                mean_rate_msgs_per_s=5.0,
                parameters=PARAMETERS,
            )
        )
    assert rate == pytest.approx(0.1)


def test_the_yield_is_one_where_the_theory_holds_and_is_bounded() -> None:
    copy_yield = 0.9
    for _ in range(300):
        copy_yield = float(observed_yield(copy_yield, share=0.95, copies_then=3.153))
    assert copy_yield == pytest.approx(1.0, abs=0.001)
    for _ in range(300):
        copy_yield = float(observed_yield(copy_yield, share=0.6, copies_then=50.0))
    assert copy_yield == pytest.approx(LOWEST_YIELD)
    for _ in range(300):
        copy_yield = float(observed_yield(copy_yield, share=0.98, copies_then=1.0))
    assert copy_yield == pytest.approx(HIGHEST_YIELD)
    assert float(copies_target(LOWEST_YIELD, PARAMETERS)) < 6


def test_a_share_of_nearly_everything_tells_nothing() -> None:
    assert float(observed_yield(1.1, share=0.999, copies_then=30.0)) == 1.1


def test_copies_without_new_events_are_many() -> None:
    assert float(copies_for_each_event(12.0, 4.0)) == 3.0
    assert float(copies_for_each_event(1.0, 0.0)) > 1e6


def test_a_mean_that_nobody_renews_fades_however_often_it_is_repeated() -> None:
    """Two groups of peers repeat 30 to each other; one sender puts in 10."""
    values, weights = np.full(50, 30.0), np.ones(50)
    for _ in range(120):
        heard, heard_weight = np.roll(values, 7), np.roll(weights, 7)
        mean, weight = mixed(values, weights, 4 * heard * heard_weight, 4 * heard_weight, 4.0)
        values, weights = np.array(mean), np.array(weight)
        own, own_weight = with_own(values[0], weights[0], 10.0)
        values[0], weights[0] = float(own), float(own_weight)
    assert values[0] == pytest.approx(10.0, rel=0.01)
    assert weights.max() <= 1.0


@pytest.mark.parametrize("share", [0.6, 0.8, 0.95, 0.99])
def test_the_share_reached_is_the_inverse_of_the_copies_needed(share: float) -> None:
    assert float(share_reached(copies_needed(share))) == pytest.approx(share, abs=1e-3)
