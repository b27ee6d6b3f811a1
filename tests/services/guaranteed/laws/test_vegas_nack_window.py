"""The NACK window of the improved law: it fills a link of any length, and no more than that."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.nack_window import NackAnswer
from penstock.services.guaranteed.laws.vegas_nack_window import NOISE_NS, VegasNackWindow

UNIT = 100 * MILLISECOND
LARGEST = 10 * SECOND


class Link:
    """A network of one delay that carries a number of tick seconds in a second."""

    def __init__(self, delay_ns: int, carries: float = float("inf")) -> None:
        self.window = VegasNackWindow(
            CongestionParameters(), unit=UNIT, largest=LARGEST, largest_bytes=1 << 30
        )
        self.window.recovery_began()
        self._delay_ns = delay_ns
        self._carries = carries
        self._now = 0

    def round_trip(self) -> int:
        waits = self.window.size_ns / self._carries - self._delay_ns
        return self._delay_ns + max(0, round(waits))

    def answer(self, times: int = 1) -> int:
        for _ in range(times):
            measured = self.round_trip()
            self._now += measured
            answer = NackAnswer(self.window.size_ns, 0, False, measured, self._now, measured)
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


def test_a_recovery_starts_again_and_measures_the_way_anew() -> None:
    link = Link(10 * MILLISECOND, 2.0)
    link.answer(100)
    link.window.recovery_began()
    assert link.window.size_ns == UNIT
    assert not link.window.waits_for_the_network

    longer = Link(2 * SECOND)
    longer.window = link.window
    assert longer.answer(10) == LARGEST


def test_it_closes_when_the_network_carries_less() -> None:
    link = Link(100 * MILLISECOND, 5.0)
    wide = link.answer(100)
    narrower = Link(100 * MILLISECOND, 1.0)
    narrower.window = link.window

    assert narrower.answer(100) < wide


def test_nothing_is_decided_without_a_sample() -> None:
    window = VegasNackWindow(
        CongestionParameters(), unit=UNIT, largest=LARGEST, largest_bytes=1 << 30
    )
    window.answered(NackAnswer(UNIT, 0, False, None, SECOND))

    assert window.size_ns == UNIT


def opened(largest_bytes: int = 1 << 30) -> VegasNackWindow:
    """A window that has opened as wide as it goes, after answers that came at once."""
    window = VegasNackWindow(
        CongestionParameters(), unit=UNIT, largest=LARGEST, largest_bytes=largest_bytes
    )
    for number in range(1, 20):
        at = number * SECOND
        span = window.size_ns
        count_bytes = 100_000 * span // UNIT
        window.answered(NackAnswer(span, count_bytes, False, MILLISECOND, at, MILLISECOND))
    return window


def answered(window: VegasNackWindow, second: int, *, repeated: bool = False) -> int:
    at, span = second * SECOND, window.size_ns
    window.answered(NackAnswer(span, 0, False, MILLISECOND, at, MILLISECOND, repeated))
    return window.size_ns


def test_after_a_loss_it_halves_and_opens_by_one_unit() -> None:
    window = opened()

    assert answered(window, 21, repeated=True) == LARGEST // 2
    assert answered(window, 22) == LARGEST // 2 + UNIT
    window.recovery_began()
    assert answered(window, 30) == 2 * UNIT


def test_a_repetition_before_the_round_trip_is_known_proves_nothing() -> None:
    window = VegasNackWindow(
        CongestionParameters(), unit=UNIT, largest=LARGEST, largest_bytes=1 << 30
    )
    window.answered(NackAnswer(UNIT, 0, False, None, SECOND, None, repeated=True))

    assert answered(window, 2) == 2 * UNIT


def test_in_a_dense_stream_it_is_no_wider_than_what_can_be_received() -> None:
    """A unit of 100,000 bytes: two million are two seconds of the stream."""
    assert opened(2_000_000).size_ns == 20 * UNIT


def test_a_window_that_is_not_used_does_not_open() -> None:
    window = VegasNackWindow(
        CongestionParameters(), unit=UNIT, largest=LARGEST, largest_bytes=1 << 30
    )
    for number in range(1, 20):
        at = number * SECOND
        window.answered(NackAnswer(4 * UNIT, 0, False, MILLISECOND, at, MILLISECOND))
    assert window.size_ns == 16 * UNIT
