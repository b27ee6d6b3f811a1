"""What a store checks before it accepts an order."""

import pytest

from penstock.core.clock import NEVER
from penstock.store.admission import LogFront, check_room
from penstock.store.interface import Failure, OutOfOrder, StoreOverloaded


@pytest.mark.parametrize(("low", "high"), [(9, 12), (10, 10), (12, 11), (10, NEVER + 1)])
def test_a_record_must_cover_ticks_above_the_end(low: int, high: int) -> None:
    front = LogFront("prices", 10)
    front.check(10, 11)
    with pytest.raises(OutOfOrder, match=r"log 'prices' ends at 10, so a record cannot cover"):
        front.check(low, high)


def test_an_epoch_ends_once_for_all_its_failures() -> None:
    front = LogFront("prices", 10)
    first, second = (
        Failure(token, "prices", "the disk is full", retriable=True, epoch=0) for token in (1, 2)
    )
    front.resume_after(first, 7)
    assert (front.epoch, front.accepted_high) == (1, 7)
    front.accepted_high = 20
    front.resume_after(second, 7)
    assert (front.epoch, front.accepted_high) == (1, 20)


def test_pending_bytes_are_bounded_but_one_order_always_fits() -> None:
    check_room(0, 1000, 100)
    check_room(60, 40, 100)
    with pytest.raises(StoreOverloaded, match="60 bytes wait to be committed and 41 more"):
        check_room(60, 41, 100)
