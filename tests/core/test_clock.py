"""Time as integers: units, rounding, and the earliest of several deadlines."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import (
    HOUR,
    MICROSECOND,
    MILLISECOND,
    MINUTE,
    NANOSECOND,
    NEVER,
    SECOND,
    earliest,
    in_seconds,
    milliseconds,
    seconds,
)


def test_each_unit_is_a_whole_number_of_the_smaller_ones() -> None:
    assert NANOSECOND == 1
    assert MICROSECOND == 1_000 * NANOSECOND
    assert MILLISECOND == 1_000 * MICROSECOND
    assert SECOND == 1_000 * MILLISECOND
    assert MINUTE == 60 * SECOND
    assert HOUR == 60 * MINUTE


def test_never_is_the_last_tick_that_a_signed_64_bit_column_holds() -> None:
    assert NEVER == 2**63 - 1
    assert NEVER > 200 * 365 * 24 * HOUR


def test_fractions_round_to_the_nearest_nanosecond() -> None:
    assert seconds(0.1) == 100_000_000
    assert seconds(1e-9) == 1
    assert seconds(1.4e-9) == 1
    assert seconds(1.6e-9) == 2
    assert seconds(-0.25) == -250_000_000
    assert milliseconds(0.6) == 600_000
    assert milliseconds(1.5) == 1_500_000


def test_a_conversion_gives_an_integer() -> None:
    assert type(seconds(2)) is int
    assert type(seconds(0.5)) is int
    assert type(milliseconds(0.5)) is int


@settings(deadline=None)
@given(st.integers(min_value=-(10**6), max_value=10**6))
def test_whole_milliseconds_survive_the_way_through_seconds(count: int) -> None:
    duration = count * MILLISECOND
    assert milliseconds(count) == duration
    assert seconds(in_seconds(duration)) == duration


def test_the_earliest_deadline_ignores_those_that_do_not_exist() -> None:
    assert earliest() is None
    assert earliest(None, None) is None
    assert earliest(None, 7) == 7
    assert earliest(9, None, 3, 5) == 3
    assert earliest(NEVER, None) == NEVER


def test_zero_is_a_deadline() -> None:
    assert earliest(0, 5) == 0
    assert earliest(None, 0) == 0
