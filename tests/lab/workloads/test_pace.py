"""When batches are due: phases, rates that follow a curve, pauses, and random gaps."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.core.clock import NEVER, SECOND
from penstock.lab.scenario.curve import Curve, CurvePoint
from penstock.lab.workloads.pace import Pace, PacedSlots

BEGAN_AT = 100 * SECOND


def curve(*points: tuple[float, float]) -> Curve:
    return tuple(CurvePoint(float(at_s), float(value)) for at_s, value in points)


def slots_until(
    end_s: float, rate: Curve, *, start_s: float = 0.0, seed: int = 1, **keys: Any
) -> list[float]:
    """The seconds of all slots before an end."""
    start_at = BEGAN_AT + round(start_s * SECOND)
    pace = Pace(start_at, rate_msgs_per_s=rate, began_at=BEGAN_AT, **keys)
    slots = PacedSlots(pace, Random(seed))
    found = []
    while slots.next_at < BEGAN_AT + end_s * SECOND:
        found.append((slots.next_at - BEGAN_AT) / SECOND)
        slots.advance()
    return found


@pytest.mark.parametrize("rate", [10.0, curve((0, 10)), curve((2, 10), (3, 10))])
def test_even_slots_have_equal_gaps_after_a_phase(rate: Curve) -> None:
    found = slots_until(5, rate)
    assert len(found) == 50
    assert 0 <= found[0] < 0.1
    assert [after - before for before, after in pairwise(found)] == pytest.approx([0.1] * 49)


@pytest.mark.parametrize("rate", [10.0, curve((0, 10))])
def test_phases_of_several_clients_differ(rate: Curve) -> None:
    phases = {slots_until(0.1, rate, seed=seed)[0] for seed in range(20)}
    assert len(phases) == 20
    assert max(phases) - min(phases) > 0.05


def test_a_batch_is_due_when_all_its_messages_are() -> None:
    assert len(slots_until(10, 100, batch_rows=25)) == 40
    assert len(slots_until(10, curve((0, 100)), batch_rows=25)) == 40


def test_a_rate_that_rises_has_slots_closer_and_closer() -> None:
    found = slots_until(10, curve((0, 0), (10, 100)))
    assert len(found) == 500, "half of the highest rate, on average"
    gaps = [after - before for before, after in pairwise(found)]
    assert all(after < before for before, after in pairwise(gaps))
    assert sum(1 for each in found if each < 5) == pytest.approx(125, abs=1)


def test_a_rate_follows_every_part_of_its_curve() -> None:
    found = slots_until(10, curve((0, 10), (2, 10), (4, 50), (6, 50), (8, 0)))
    inside = [sum(1 for each in found if low <= each < low + 2) for low in range(0, 10, 2)]
    assert inside == pytest.approx([20, 60, 100, 50, 0], abs=1)


def test_a_rate_of_zero_has_no_slots_in_between() -> None:
    found = slots_until(10, curve((0, 10), (2, 10), (2.001, 0), (6, 0), (6.001, 10)))
    assert not [each for each in found if 2.001 < each < 6]
    assert sum(1 for each in found if each < 2.001) == 20
    assert sum(1 for each in found if each > 6) == pytest.approx(40, abs=1)


def test_a_rate_that_ends_at_zero_has_no_slots_any_more() -> None:
    pace = Pace(0, rate_msgs_per_s=curve((0, 10), (1, 0)))
    slots = PacedSlots(pace, Random(1))
    for _ in range(20):
        slots.advance()
    assert slots.next_at == NEVER


def test_the_seconds_of_a_curve_count_from_the_beginning_of_the_scenario() -> None:
    found = slots_until(10, curve((0, 100), (5, 100), (5.001, 0)), start_s=4)
    assert found[0] >= 4
    assert len(found) == pytest.approx(100, abs=1)


@pytest.mark.parametrize("rate", [100.0, curve((0, 100))])
def test_a_random_pattern_has_the_rate_on_average_and_gaps_of_all_lengths(rate: Curve) -> None:
    found = slots_until(100, rate, pattern="poisson")
    assert len(found) == pytest.approx(10_000, rel=0.05)
    gaps = [after - before for before, after in pairwise(found)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert deviation == pytest.approx(mean, rel=0.1), "as of an exponential distribution"
    assert slots_until(100, rate, pattern="poisson") == found, "its own stream decides"


def test_without_a_rate_every_instant_is_a_slot() -> None:
    pace = Pace(5, max_in_flight=3)
    slots = PacedSlots(pace, Random(1))
    slots.advance()
    assert slots.next_at == 5
    assert not pace.has_rate


@pytest.mark.parametrize(
    ("rate", "has"), [(0, False), (3, True), (curve((0, 0)), False), (curve((0, 0), (1, 1)), True)]
)
def test_a_pace_has_a_rate_if_it_is_ever_above_zero(rate: Curve, has: bool) -> None:
    assert Pace(0, rate_msgs_per_s=rate).has_rate is has


@example(rates=[1.192092896e-07], pattern="even", batch_rows=23)
@given(
    st.lists(st.floats(0, 1000), min_size=1, max_size=5),
    st.sampled_from(["even", "poisson"]),
    st.integers(1, 50),
)
def test_slots_never_go_back(rates: list[float], pattern: Any, batch_rows: int) -> None:
    rate = curve(*enumerate(rates))
    pace = Pace(
        BEGAN_AT, rate_msgs_per_s=rate, pattern=pattern, batch_rows=batch_rows, began_at=BEGAN_AT
    )
    slots = PacedSlots(pace, Random(2))
    before = BEGAN_AT
    for _ in range(50):
        assert before <= slots.next_at <= NEVER
        before = slots.next_at
        slots.advance()
