"""Round trips of requests that different brokers answer."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, MINUTE, SECOND
from penstock.services.guaranteed.laws.answer_round_trips import (
    HERE,
    LONGEST_AHEAD,
    MOST_LINKS,
    AnswerOrigin,
    AnswerRoundTrips,
    ShortestRoundTrips,
)

NEAR, FAR = 1, 3


def round_trips() -> AnswerRoundTrips:
    return AnswerRoundTrips(minimum=MILLISECOND, maximum=30 * SECOND, initial=SECOND)


def test_an_origin_counts_links_and_the_time_that_an_answer_was_under_way() -> None:
    origin = HERE.over_a_link().for_one_who_came_later(5).over_a_link().for_one_who_came_later(2)
    assert origin == AnswerOrigin(2, 7)
    assert origin.for_one_who_came_later(-1) is origin


def test_an_origin_stays_within_the_limits_of_its_fields() -> None:
    most = AnswerOrigin(MOST_LINKS, LONGEST_AHEAD)
    assert most.over_a_link() == most
    assert most.for_one_who_came_later(1) == most


def test_before_there_is_a_sample_the_first_time_out_serves() -> None:
    trips = round_trips()
    assert trips.timeout() == SECOND
    assert trips.smoothed_ns is None
    assert trips.smoothed_over(NEAR) is None
    assert trips.shortest_usual_ns(NEAR) == 0
    trips.timed_out()
    assert trips.timeout() == 2 * SECOND


def test_answers_from_different_distances_are_estimated_apart() -> None:
    trips = round_trips()
    for _ in range(50):
        trips.sample(10 * MILLISECOND, NEAR)
        trips.sample(SECOND, FAR)
    assert trips.smoothed_over(NEAR) == 10 * MILLISECOND
    assert trips.smoothed_over(FAR) == SECOND
    assert trips.shortest_usual_ns(FAR) == SECOND // 2
    assert (trips.latest_ns, trips.latest_links) == (SECOND, FAR)


def test_near_answers_do_not_make_far_ones_time_out() -> None:
    trips = round_trips()
    for _ in range(5):
        trips.sample(SECOND, FAR)
    for _ in range(100):
        trips.sample(10 * MILLISECOND, NEAR)
    assert trips.timeout() > SECOND
    trips.timed_out()
    doubled = trips.timeout()
    assert doubled == 2 * trips.usual_timeout()
    trips.sample(10 * MILLISECOND, NEAR)
    assert trips.timeout() == doubled
    trips.sample(SECOND, FAR)
    assert trips.timeout() < doubled


def test_on_another_way_only_the_overall_estimate_is_kept() -> None:
    trips = round_trips()
    trips.sample(SECOND, FAR)
    trips.path_changed()
    assert trips.smoothed_ns == SECOND
    assert trips.smoothed_over(FAR) is None
    assert trips.latest_ns is None
    assert trips.timeout() > SECOND


@pytest.mark.parametrize(("links", "farthest"), [(NEAR, False), (FAR, True), (FAR + 1, True)])
def test_the_farthest_answer_is_known(links: int, farthest: bool) -> None:
    trips = round_trips()
    trips.sample(1, NEAR)
    trips.sample(1, FAR)
    assert trips.is_farthest(links) is farthest


def test_a_round_trip_is_compared_with_those_over_as_many_links() -> None:
    shortest = ShortestRoundTrips()
    assert shortest.excess(100, NEAR, 0) == 0
    assert shortest.excess(1000, FAR, 0) == 0
    assert shortest.excess(1010, FAR, 0) == 10
    assert shortest.excess(90, NEAR, 0) == 0
    assert shortest.excess(100, NEAR, 0) == 10
    assert len(shortest) == 2
    shortest.forget()
    assert shortest.excess(100, NEAR, 0) == 0


def test_the_shortest_is_that_of_the_last_one_to_two_intervals() -> None:
    shortest = ShortestRoundTrips(MINUTE)
    shortest.excess(10, NEAR, 0)
    assert shortest.excess(20, NEAR, MINUTE) == 10
    assert shortest.excess(20, NEAR, 2 * MINUTE) == 0
