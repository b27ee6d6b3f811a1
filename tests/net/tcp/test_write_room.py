"""The room between the queue and the wire follows the rate of the way, between its bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.net.tcp.write_room import FIRST_ROOM_BYTES, ROOM_S, SMALLEST_ROOM_BYTES, WriteRoom

LARGEST = 256 * 1024


def settled(rate_bytes_per_s: float) -> int:
    """The room after many waits on a way of this rate."""
    room = WriteRoom(LARGEST)
    for _ in range(20):
        room.drained(round(rate_bytes_per_s), 1.0)
    return room.size_bytes


def test_a_fast_way_gets_the_largest_room_and_a_slow_one_the_smallest() -> None:
    assert settled(1e9) == LARGEST
    assert settled(60_000) == SMALLEST_ROOM_BYTES


def test_between_the_bounds_it_is_what_the_peer_takes_in_its_time() -> None:
    assert settled(2_000_000) == pytest.approx(2_000_000 * ROOM_S, rel=0.01)


def test_a_wait_too_short_to_be_measured_is_a_fast_way() -> None:
    room = WriteRoom(LARGEST)
    room.drained(10_000, 0.0)

    assert room.size_bytes > FIRST_ROOM_BYTES


def test_a_small_largest_room_bounds_the_first_and_the_smallest() -> None:
    room = WriteRoom(4096)
    assert room.size_bytes == 4096
    room.drained(1, 100.0)
    assert room.size_bytes == 4096


@given(
    st.lists(
        st.tuples(st.integers(0, 10**9), st.floats(0, 1000, allow_nan=False)),
        max_size=20,
    )
)
def test_whatever_is_measured_the_bounds_hold(waits: list[tuple[int, float]]) -> None:
    room = WriteRoom(LARGEST)
    for count_bytes, elapsed_s in waits:
        room.drained(count_bytes, elapsed_s)
        assert SMALLEST_ROOM_BYTES <= room.size_bytes <= LARGEST
