from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import HOUR, MINUTE, SECOND, Duration
from penstock.core.randomness import random_stream
from penstock.mechanisms.back_off import (
    FIRST_WAIT,
    LONGEST_WAIT,
    SETTLED,
    BackOff,
    LimitedBackOff,
)

durations = st.integers(1, HOUR)


def client() -> BackOff:
    return BackOff(random_stream(1, "client"))


def neighbour() -> BackOff:
    longest = 5 * SECOND
    return BackOff(
        random_stream(1, "neighbour"),
        first=SECOND // 10,
        longest=longest,
        settled=longest,
        starts_at_once=True,
    )


@given(first=durations, longest=durations, seed=st.integers())
def test_each_wait_lies_in_the_upper_half_of_a_range_that_doubles_up_to_the_longest(
    first: Duration, longest: Duration, seed: int
) -> None:
    first = min(first, longest)
    back_off = BackOff(random_stream(seed), first=first, longest=longest)
    bound = first
    for _ in range(50):
        assert bound // 2 <= back_off.next_wait() <= bound
        bound = min(2 * bound, longest)
    assert bound == longest


@given(lasted=st.lists(st.integers(0, 10 * SECOND), max_size=30), seed=st.integers())
def test_no_wait_exceeds_the_longest_whatever_happens(lasted: list[Duration], seed: int) -> None:
    back_off = BackOff(random_stream(seed))
    for each in lasted:
        assert 0 <= back_off.wait_after(each) <= LONGEST_WAIT


def test_the_waits_of_a_client_begin_after_its_first_attempt() -> None:
    assert FIRST_WAIT // 2 <= client().next_wait() <= FIRST_WAIT


def test_a_caller_that_waits_before_each_attempt_makes_the_first_at_once() -> None:
    back_off = neighbour()
    assert back_off.next_wait() == 0
    assert SECOND // 20 <= back_off.next_wait() <= SECOND // 10


def test_a_settled_connection_is_replaced_at_once_and_starts_the_waits_anew() -> None:
    back_off = client()
    for _ in range(10):
        back_off.next_wait()
    assert back_off.wait_after(SETTLED) == 0
    assert FIRST_WAIT // 2 <= back_off.next_wait() <= FIRST_WAIT


def test_a_peer_that_hangs_up_at_once_is_not_called_faster() -> None:
    back_off = client()
    for _ in range(10):
        back_off.wait_after(SETTLED - 1)
    assert back_off.wait_after(SETTLED - 1) >= LONGEST_WAIT // 2


def test_a_connection_counts_as_settled_after_the_time_that_the_caller_names() -> None:
    back_off = neighbour()
    for _ in range(10):
        back_off.next_wait()
    back_off.ended_after(5 * SECOND - 1)
    assert back_off.next_wait() >= 5 * SECOND // 2
    back_off.ended_after(5 * SECOND)
    assert back_off.next_wait() == 0


def test_a_reset_makes_the_next_attempt_at_once() -> None:
    back_off = client()
    back_off.next_wait()
    back_off.reset()
    assert back_off.next_wait() == 0


def test_two_participants_do_not_come_back_together() -> None:
    first, second = (BackOff(random_stream(1, name)) for name in ("a", "b"))
    assert [first.next_wait() for _ in range(5)] != [second.next_wait() for _ in range(5)]


def limited() -> LimitedBackOff:
    return LimitedBackOff(first=SECOND, longest=3 * SECOND, most_failures=5, within=10 * MINUTE)


def test_the_wait_doubles_up_to_the_longest_and_the_last_failure_gives_up() -> None:
    back_off = limited()
    waits = [back_off.wait_after_failure(number * SECOND) for number in range(5)]
    assert waits == [SECOND, 2 * SECOND, 3 * SECOND, 3 * SECOND, None]


def test_failures_of_long_ago_do_not_count() -> None:
    back_off = limited()
    waits = [back_off.wait_after_failure(number * 10 * MINUTE) for number in range(20)]
    assert waits == [SECOND] * 20


@given(steps=st.lists(st.integers(0, 20 * MINUTE), max_size=40))
def test_it_gives_up_exactly_when_there_are_too_many_failures_within_the_time(
    steps: list[Duration],
) -> None:
    back_off, failures, now = limited(), [], 0
    for step in steps:
        now += step
        failures.append(now)
        recent = sum(at > now - 10 * MINUTE for at in failures)
        assert (back_off.wait_after_failure(now) is None) == (recent >= 5)
