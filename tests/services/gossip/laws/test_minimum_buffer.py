"""Figure 5 (a): the smallest buffer of the last Δ periods, and Section 6's n-th smallest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.gossip.laws.minimum_buffer import MinimumBufferEstimate
from penstock.services.gossip.messages import BufferClaim


def estimate(own: int = 90, rank: int = 1, floor: int = 1) -> MinimumBufferEstimate:
    return MinimumBufferEstimate(own, 1, rank=rank, periods=2, floor=floor)


def test_a_smaller_buffer_counts_from_the_next_period() -> None:
    minimum = estimate()
    minimum.heard(minimum.period, (BufferClaim(45, 2),))
    assert minimum.estimate == 90
    minimum.next_period()
    assert minimum.estimate == 45


def test_a_peer_that_left_is_forgotten_after_delta_periods() -> None:
    minimum = estimate()
    minimum.heard(minimum.period, (BufferClaim(45, 2),))
    minimum.next_period()
    minimum.next_period()
    assert minimum.estimate == 90


def test_an_earlier_period_is_not_heard_and_a_later_one_advances_ones_own() -> None:
    minimum = estimate()
    first = minimum.period
    minimum.heard(first + 3, (BufferClaim(50, 2),))
    assert minimum.period == first + 3
    minimum.heard(first, (BufferClaim(5, 3),))
    minimum.next_period()
    assert minimum.estimate == 50


def test_ones_own_smaller_buffer_counts_at_once() -> None:
    minimum = estimate()
    minimum.resize(45)
    assert minimum.estimate == 45
    assert minimum.claims == (BufferClaim(45, 1),)


def test_ones_own_larger_buffer_counts_after_delta_periods() -> None:
    minimum = estimate(45)
    minimum.resize(60)
    minimum.next_period()
    assert minimum.estimate == 45
    minimum.next_period()
    assert minimum.estimate == 60


def test_with_rank_two_one_poor_peer_holds_nobody_back() -> None:
    minimum = estimate(rank=2)
    for _ in range(2):
        minimum.heard(minimum.period, (BufferClaim(10, 5), BufferClaim(80, 6)))
        minimum.next_period()
    assert minimum.estimate == 80


def test_a_forged_minimum_counts_as_the_floor() -> None:
    minimum = estimate(floor=10)
    minimum.heard(minimum.period, (BufferClaim(0, 2),))
    minimum.next_period()
    assert minimum.estimate == 10


claims = st.lists(st.builds(BufferClaim, st.integers(1, 200), st.integers(2, 30)), max_size=12)


@given(claims, st.integers(1, 4), st.randoms(use_true_random=False))
def test_merging_does_not_depend_on_the_order(heard: list[BufferClaim], rank: int, random) -> None:  # type: ignore[no-untyped-def]
    one, other = estimate(rank=rank), estimate(rank=rank)
    shuffled = list(heard)
    random.shuffle(shuffled)
    for claim in heard:
        one.heard(one.period, (claim,))
    other.heard(other.period, tuple(shuffled))
    assert one.claims[0].events == other.claims[0].events
    smallest = {1: 90}
    for claim in heard:
        smallest[claim.origin] = min(claim.events, smallest.get(claim.origin, 10**9))
    assert [claim.events for claim in other.claims] == sorted(smallest.values())[:rank]
    other.check_invariants()
