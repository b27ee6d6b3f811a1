"""What a peer missed shows in the gaps of what it received."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.services.gossip.events.receipts import (
    GAPS_FOR_EACH_ARRIVAL,
    MISSING_LIMIT,
    ORIGINS_LIMIT,
    SETTLE_ROUNDS,
    ReceiptEstimate,
)
from penstock.services.gossip.laws.improved_rate import copies_needed, share_reached
from penstock.services.gossip.messages import event_id


def settle(receipts: ReceiptEstimate, rounds: int = SETTLE_ROUNDS + 1) -> None:
    for _ in range(rounds):
        receipts.next_round(3.0)


def test_whoever_receives_everything_misses_nothing() -> None:
    receipts = ReceiptEstimate(0.9, 3.0)
    receipts.arrived(event_id(1, number) for number in range(5000))
    settle(receipts)
    assert receipts.share > 0.999


def test_every_tenth_missing_is_a_share_of_nine_tenths() -> None:
    receipts = ReceiptEstimate(1.0, 3.0)
    receipts.arrived(event_id(1, number) for number in range(5000) if number % 10)
    settle(receipts)
    assert receipts.share == pytest.approx(0.9, abs=0.005)


def test_rounds_with_many_copies_do_not_make_a_copy_look_weak() -> None:
    """Copies between 2.5 and 12: each round covers what the theory says, so the yield is one."""
    receipts = ReceiptEstimate(0.96, 3.35)
    first = 0
    for place in range(400):
        copies = (2.5, 12.0)[place % 2]
        missed = round(100 * (1 - float(share_reached(copies))))
        receipts.arrived(event_id(1, first + number) for number in range(missed, 100))
        first += 100
        receipts.next_round(copies)
    assert float(copies_needed(receipts.share)) == pytest.approx(receipts.copies_then, rel=0.08)


def test_a_late_arrival_fills_its_gap() -> None:
    receipts = ReceiptEstimate(1.0, 3.0)
    receipts.arrived([event_id(1, 0), event_id(1, 2)])
    receipts.next_round(3.0)
    receipts.arrived([event_id(1, 1)])
    settle(receipts)
    assert receipts.share == 1.0


def test_the_first_event_of_an_origin_opens_its_account() -> None:
    receipts = ReceiptEstimate(1.0, 3.0)
    receipts.arrived([event_id(1, 1_000_000)])
    settle(receipts)
    assert receipts.share == 1.0


def test_invented_numbers_cost_a_bounded_amount() -> None:
    receipts = ReceiptEstimate(1.0, 3.0)
    receipts.arrived(event_id(1, number * 10**6) for number in range(2 * MISSING_LIMIT))
    receipts.arrived(event_id(origin, 1) for origin in range(2, ORIGINS_LIMIT + 50))
    assert sum(map(len, receipts._missing)) <= MISSING_LIMIT
    assert len(receipts._highest) <= ORIGINS_LIMIT
    assert GAPS_FOR_EACH_ARRIVAL < 100


def test_the_copies_are_those_of_when_the_judged_events_came() -> None:
    receipts = ReceiptEstimate(1.0, 3.0)
    receipts.arrived(event_id(1, number) for number in range(5000))
    receipts.next_round(8.0)
    for _ in range(SETTLE_ROUNDS - 2):
        receipts.next_round(1.0)
        assert receipts.copies_then == pytest.approx(3.0)
    receipts.next_round(1.0)
    assert receipts.share == 1.0


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(30)), st.sets(st.integers(1, 28), max_size=10))
def test_the_order_of_arrival_within_the_settling_time_does_not_matter(
    order: list[int], missing: set[int]
) -> None:
    receipts = ReceiptEstimate(1.0, 3.0)
    receipts.arrived([event_id(1, 0)])
    arriving = [number for number in order if number not in missing and number != 0]
    receipts.arrived(event_id(1, number) for number in (*arriving, 30))
    assert sum(map(len, receipts._missing)) <= len(missing) + GAPS_FOR_EACH_ARRIVAL
    in_window = {event_id(1, number) for number in missing}
    assert {each for noticed in receipts._missing for each in noticed} <= in_window
