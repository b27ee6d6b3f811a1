"""The round-trip estimator: bounds, Karn's rule, back-off."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.laws.round_trip import MAX_BACK_OFF, RoundTrip


def round_trip() -> RoundTrip:
    return RoundTrip(minimum=600 * MILLISECOND, maximum=30 * SECOND, initial=SECOND)


def test_the_initial_timeout_serves_until_there_is_a_sample() -> None:
    assert round_trip().timeout() == SECOND


def test_the_timeout_is_the_smoothed_round_trip_and_four_deviations() -> None:
    trip = round_trip()
    trip.sample(SECOND)

    assert trip.timeout() == SECOND + 4 * SECOND // 2

    trip.sample(2 * SECOND)
    assert trip.smoothed_ns == SECOND + SECOND // 8
    assert trip.deviation_ns == SECOND // 2 + (SECOND - SECOND // 2) // 4


def test_the_timeout_has_bounds() -> None:
    trip = round_trip()
    trip.sample(MILLISECOND)
    assert trip.timeout() == 600 * MILLISECOND

    trip.sample(3600 * SECOND)
    assert trip.timeout() == 30 * SECOND


def test_repetition_doubles_the_timeout_up_to_eightfold() -> None:
    trip = round_trip()
    timeouts = []
    for _ in range(5):
        trip.repeated()
        timeouts.append(trip.timeout() // SECOND)

    assert timeouts == [2, 4, 8, 8, 8]
    assert MAX_BACK_OFF == 8


def test_the_back_off_lasts_until_an_answer_can_be_measured() -> None:
    trip = round_trip()
    trip.sample(200 * MILLISECOND)
    before = trip.timeout()
    trip.repeated()
    assert trip.timeout() == 2 * before

    trip.sample(200 * MILLISECOND)
    assert trip.timeout() <= before


@given(samples=st.lists(st.integers(0, 100 * SECOND), max_size=50), repeats=st.integers(0, 10))
def test_a_timeout_is_never_out_of_bounds(samples: list[int], repeats: int) -> None:
    trip = round_trip()
    for sample in samples:
        trip.sample(sample)
    for _ in range(repeats):
        trip.repeated()

    assert 600 * MILLISECOND <= trip.timeout() <= 30 * SECOND
