"""The NACK window of the improved law: it fills a link of any length, and no more than that."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.nack_window import NackAnswer
from penstock.services.guaranteed.laws.vegas_nack_window import (
    FORGET_AFTER,
    NOISE_NS,
    RESUMED_WITHIN,
    UNIT_BYTES,
    VegasNackWindow,
)

UNIT = 100 * MILLISECOND
LARGEST = 10 * SECOND


DENSITY = 200_000
"""Bytes in a second of the stream."""


def vegas(largest_bytes: int = 1 << 30) -> VegasNackWindow:
    return VegasNackWindow(
        CongestionParameters(), unit=UNIT, largest=LARGEST, largest_bytes=largest_bytes
    )


class Link:
    """A network of one delay that carries a number of tick seconds in a second."""

    def __init__(
        self, delay_ns: int, carries: float = float("inf"), density: int = DENSITY
    ) -> None:
        self.window = vegas()
        self.window.recovery_began(0)
        self.now = 0
        self._delay_ns = delay_ns
        self._carries = carries
        self._density = density

    def round_trip(self) -> int:
        waits = self.window.size_ns / self._carries - self._delay_ns
        return self._delay_ns + max(0, round(waits))

    def answer(self, times: int = 1) -> int:
        for _ in range(times):
            measured = self.round_trip()
            self.now += measured
            span = self.window.size_ns
            count_bytes = self._density * span // SECOND
            answer = NackAnswer(span, count_bytes, False, measured, self.now, measured)
            self.window.answered(answer)
        return self.window.size_ns


def test_it_starts_with_nwnd_0_and_doubles_while_nothing_waits() -> None:
    link = Link(SECOND)

    assert link.window.size_ns == UNIT
    assert [link.answer() for _ in range(3)] == [2 * UNIT, 4 * UNIT, 8 * UNIT]
    assert not link.window.waits_for_the_network


@pytest.mark.parametrize("delay_ns", [MILLISECOND, 50 * MILLISECOND, SECOND, 2 * SECOND])
def test_without_congestion_it_opens_to_the_receive_window(delay_ns: int) -> None:
    assert Link(delay_ns).answer(10) == LARGEST


@pytest.mark.parametrize("delay_ns", [MILLISECOND, 350 * MILLISECOND, SECOND])
@pytest.mark.parametrize("carries", [1.5, 3.0, 7.0])
def test_it_holds_ten_units_in_the_queues_of_a_congested_network(
    delay_ns: int, carries: float
) -> None:
    """As the paper's window does on a short link, at every length and capacity."""
    link = Link(delay_ns, carries)
    size = link.answer(300)
    on_the_way = delay_ns * carries
    ignored = NOISE_NS * carries

    assert min(LARGEST, on_the_way + 9 * UNIT) <= size <= on_the_way + 11 * UNIT + ignored
    assert link.window.waits_for_the_network or size == LARGEST


def test_in_a_dense_stream_what_waits_is_counted_in_bytes() -> None:
    """Ten units of 3 MB/s are 3 MB; in the queues of a link that carries a third they were 3 s."""
    link = Link(350 * MILLISECOND, 1 / 3, 3_000_000)
    size = link.answer(300)
    waits_ns = size - 350 * MILLISECOND / 3

    assert 8 * UNIT_BYTES <= 3_000_000 * waits_ns / SECOND <= 12 * UNIT_BYTES


def test_in_a_thin_stream_a_frame_that_waits_is_no_congestion() -> None:
    link = Link(350 * MILLISECOND, 3.0, 1000)

    assert link.answer(10) == LARGEST
    assert not link.window.waits_for_the_network


def test_answers_of_a_near_relay_do_not_make_those_of_the_source_look_late() -> None:
    window, now = vegas(), 0
    for number in range(20):
        links, round_trip = (1, MILLISECOND) if number % 2 else (3, SECOND)
        now += round_trip
        span = window.size_ns
        window.answered(
            NackAnswer(
                span, DENSITY * span // SECOND, False, round_trip, now, round_trip, links=links
            )
        )
        assert not window.waits_for_the_network
    assert window.size_ns == LARGEST


def test_a_recovery_starts_again_with_the_first_window() -> None:
    link = Link(10 * MILLISECOND, 2.0)
    link.answer(100)
    link.window.recovery_began(link.now + RESUMED_WITHIN)
    assert link.window.size_ns == UNIT
    assert not link.window.waits_for_the_network


def test_a_recovery_that_is_interrupted_for_a_moment_goes_on() -> None:
    """An edge that repairs a gap begins to recover when it has to ignore live data."""
    link = Link(10 * MILLISECOND, 2.0)
    wide = link.answer(100)
    link.window.recovery_began(link.now + RESUMED_WITHIN - 1)
    assert link.window.size_ns == wide
    assert link.window.waits_for_the_network


@pytest.mark.parametrize("happens", ["another way", "after a while"])
def test_the_way_is_measured_anew(happens: str) -> None:
    link = Link(10 * MILLISECOND, 2.0)
    link.answer(100)
    longer = Link(2 * SECOND)
    longer.window, longer.now = link.window, link.now + FORGET_AFTER
    if happens == "another way":
        longer.window.path_changed()
    else:
        longer.window.recovery_began(longer.now)

    assert longer.window.size_ns == UNIT
    assert longer.answer(10) == LARGEST
    assert not longer.window.waits_for_the_network


def test_it_closes_when_the_network_carries_less() -> None:
    link = Link(100 * MILLISECOND, 5.0)
    wide = link.answer(100)
    narrower = Link(100 * MILLISECOND, 1.0)
    narrower.window = link.window

    assert narrower.answer(100) < wide


def test_nothing_is_decided_without_a_sample() -> None:
    window = vegas()
    window.answered(NackAnswer(UNIT, 0, False, None, SECOND))

    assert window.size_ns == UNIT


def opened(largest_bytes: int = 1 << 30) -> VegasNackWindow:
    """A window that has opened as wide as it goes, after answers that came at once."""
    window = vegas(largest_bytes)
    for number in range(1, 20):
        at = number * SECOND
        span = window.size_ns
        count_bytes = 100_000 * span // UNIT
        window.answered(NackAnswer(span, count_bytes, False, MILLISECOND, at, MILLISECOND))
    return window


def answered(
    window: VegasNackWindow, second: int, *, repeated: bool = False, lost: bool = False
) -> int:
    at, span = second * SECOND, window.size_ns
    window.answered(
        NackAnswer(span, 0, False, MILLISECOND, at, MILLISECOND, repeated or lost, lost=lost)
    )
    return window.size_ns


def test_after_a_loss_it_halves_and_opens_by_one_unit() -> None:
    window = opened()

    assert answered(window, 21, lost=True) == LARGEST // 2
    assert answered(window, 22) == LARGEST // 2 + UNIT
    window.recovery_began(30 * SECOND)
    assert answered(window, 31) == 2 * UNIT


def test_what_was_repeated_too_early_was_not_lost() -> None:
    window = opened()

    assert answered(window, 21, repeated=True) == LARGEST


def test_a_loss_before_the_round_trip_is_known_proves_nothing() -> None:
    window = vegas()
    window.answered(NackAnswer(UNIT, 0, False, None, SECOND, None, repeated=True, lost=True))

    assert answered(window, 2) == 2 * UNIT


def test_in_a_dense_stream_it_is_no_wider_than_what_can_be_received() -> None:
    """A unit of 100,000 bytes: two million are two seconds of the stream."""
    assert opened(2_000_000).size_ns == 20 * UNIT


def test_a_window_that_is_not_used_does_not_open() -> None:
    window = vegas()
    for number in range(1, 20):
        at = number * SECOND
        window.answered(NackAnswer(4 * UNIT, 0, False, MILLISECOND, at, MILLISECOND))
    assert window.size_ns == 16 * UNIT
