from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.mechanisms.round_trip import (
    LONGEST_NS,
    MOST_BACK_OFF,
    RETRY_NS,
    RequestRoundTrip,
    TwoClockRoundTrip,
)

# -- RequestRoundTrip ------------------------------------------------------------------------------


def request_round_trip(most_back_off: int = MOST_BACK_OFF) -> RequestRoundTrip:
    return RequestRoundTrip(
        minimum=600 * MILLISECOND,
        maximum=30 * SECOND,
        initial=SECOND,
        most_back_off=most_back_off,
    )


def test_the_initial_timeout_serves_until_there_is_a_sample() -> None:
    trip = request_round_trip()
    assert trip.timeout() == SECOND
    assert trip.shortest_usual_ns == 0


def test_the_timeout_is_the_smoothed_round_trip_and_four_deviations() -> None:
    trip = request_round_trip()
    trip.sample(SECOND)

    assert trip.timeout() == SECOND + 4 * SECOND // 2

    trip.sample(2 * SECOND)
    assert trip.smoothed_ns == SECOND + SECOND // 8
    assert trip.deviation_ns == SECOND // 2 + (SECOND - SECOND // 2) // 4
    assert trip.shortest_usual_ns == (SECOND + SECOND // 8) // 2


def test_the_timeout_has_bounds() -> None:
    trip = request_round_trip()
    trip.sample(MILLISECOND)
    assert trip.timeout() == 600 * MILLISECOND

    trip.sample(3600 * SECOND)
    assert trip.timeout() == 30 * SECOND


def test_the_timeout_stays_a_quarter_above_long_round_trips_that_are_all_alike() -> None:
    trip = request_round_trip()
    for _ in range(100):
        trip.sample(2 * SECOND)
    assert trip.timeout() == 2 * SECOND + SECOND // 2


def test_a_timeout_doubles_the_next_one_up_to_eightfold() -> None:
    trip = request_round_trip()
    timeouts = []
    for _ in range(5):
        trip.timed_out()
        timeouts.append(trip.timeout() // SECOND)

    assert timeouts == [2, 4, 8, 8, 8]


def test_the_doubling_stops_where_the_caller_says() -> None:
    trip = request_round_trip(most_back_off=1000)
    for _ in range(10):
        trip.timed_out()

    assert trip.timeout() == 30 * SECOND


def test_the_back_off_lasts_until_there_is_a_sample() -> None:
    trip = request_round_trip()
    trip.sample(200 * MILLISECOND)
    before = trip.timeout()
    trip.timed_out()
    assert trip.timeout() == 2 * before
    assert trip.usual_timeout() == before

    trip.sample(200 * MILLISECOND)
    assert trip.timeout() <= before


@given(samples=st.lists(st.integers(0, 100 * SECOND), max_size=50), timeouts=st.integers(0, 10))
def test_a_timeout_is_never_out_of_bounds(samples: list[Duration], timeouts: int) -> None:
    trip = request_round_trip()
    for sample in samples:
        trip.sample(sample)
    for _ in range(timeouts):
        trip.timed_out()

    assert 600 * MILLISECOND <= trip.timeout() <= 30 * SECOND


@given(samples=st.lists(st.integers(0, 100 * SECOND), min_size=1, max_size=50))
def test_the_smoothed_round_trip_lies_between_the_samples(samples: list[Duration]) -> None:
    trip = request_round_trip()
    for sample in samples:
        trip.sample(sample)

    assert trip.smoothed_ns is not None
    assert min(samples) <= trip.smoothed_ns <= max(samples)


# -- TwoClockRoundTrip -----------------------------------------------------------------------------

NOW: Instant = 1_000 * SECOND
CLOCK_DIFFERENCES = st.integers(-(10**18), 10**18)


def after_an_echo(difference: int) -> tuple[TwoClockRoundTrip, Instant]:
    """An estimate after an echo of 20 ms there and 30 ms back.

    ``difference`` is by how much the sender's clock is ahead.
    """
    trip = TwoClockRoundTrip(30 * SECOND)
    there, back = 20 * MILLISECOND, 30 * MILLISECOND
    trip.asked(NOW)
    trip.echoed(NOW, NOW + there + difference, NOW + there + back)
    return trip, NOW + there + back


@given(CLOCK_DIFFERENCES)
@settings(deadline=None)
def test_the_difference_of_the_clocks_cancels(difference: int) -> None:
    trip, now = after_an_echo(difference)
    assert trip.smoothed_ns == 50 * MILLISECOND
    for _ in range(250):
        now += MILLISECOND
        assert trip.publication(now - 80 * MILLISECOND + difference, now, None)
    assert trip.smoothed_ns is not None
    assert abs(trip.smoothed_ns - 100 * MILLISECOND) < MILLISECOND


@given(CLOCK_DIFFERENCES)
@settings(deadline=None)
def test_the_limiting_receiver_adds_the_delay_of_its_own_report(difference: int) -> None:
    trip, now = after_an_echo(difference)
    for _ in range(250):
        now += MILLISECOND
        delay = 40 * MILLISECOND + difference
        assert trip.publication(now - 70 * MILLISECOND + difference, now, delay)
    assert trip.smoothed_ns is not None
    assert abs(trip.smoothed_ns - 110 * MILLISECOND) < MILLISECOND


@given(CLOCK_DIFFERENCES.filter(lambda jump: abs(jump) > SECOND))
@settings(deadline=None)
def test_a_clock_that_was_set_is_not_believed_until_the_next_echo(jump: int) -> None:
    trip, now = after_an_echo(0)
    before = trip.smoothed_ns
    assert not trip.publication(now - 30 * MILLISECOND + jump, now, None)
    assert trip.smoothed_ns == before
    assert trip.echo_wanted_at() <= now + RETRY_NS
    later = now + SECOND
    trip.asked(later)
    trip.echoed(later, later + 20 * MILLISECOND + jump, later + 60 * MILLISECOND)
    assert trip.smoothed_ns == 60 * MILLISECOND
    assert trip.publication(later + jump, later + 40 * MILLISECOND, None)


def test_messages_before_the_first_echo_give_no_sample() -> None:
    trip = TwoClockRoundTrip(30 * SECOND)
    assert trip.publication(NOW, NOW + SECOND, None)
    assert trip.smoothed_ns is None
    assert trip.at_loss_ns is None


def test_an_echo_is_requested_at_first_again_if_it_is_lost_and_then_at_each_interval() -> None:
    trip = TwoClockRoundTrip(30 * SECOND)
    assert trip.echo_wanted_at() == 0
    trip.asked(SECOND)
    assert trip.echo_wanted_at() == SECOND + RETRY_NS
    trip.echoed(SECOND, 5, SECOND + MILLISECOND)
    assert trip.echo_wanted_at() == 31 * SECOND + MILLISECOND


def test_an_echo_that_was_not_requested_or_took_too_long_is_ignored() -> None:
    trip = TwoClockRoundTrip(30 * SECOND)
    trip.asked(SECOND)
    trip.echoed(SECOND - 1, 5, 2 * SECOND)
    trip.echoed(SECOND, 5, SECOND + LONGEST_NS + 1)
    assert trip.smoothed_ns is None


def test_at_a_loss_the_round_trip_of_the_next_message_counts_if_it_is_longer() -> None:
    trip = TwoClockRoundTrip(30 * SECOND)
    trip.asked(NOW)
    trip.echoed(NOW, NOW, NOW + 30 * MILLISECOND)
    trip.publication(NOW, NOW + 130 * MILLISECOND, 0)
    assert trip.at_loss_ns == 130 * MILLISECOND
    trip.publication(NOW, NOW + 20 * MILLISECOND, 0)
    assert trip.at_loss_ns == trip.smoothed_ns


def test_an_answer_counts_after_its_request_was_repeated() -> None:
    trip = TwoClockRoundTrip(30 * SECOND)
    trip.asked(SECOND)
    trip.asked(2 * SECOND)
    trip.echoed(SECOND, 2 * SECOND, 2 * SECOND + SECOND // 2)
    assert trip.smoothed_ns == 3 * SECOND // 2
    trip.echoed(SECOND, 2 * SECOND, 4 * SECOND)
    assert trip.smoothed_ns == 3 * SECOND // 2
