"""The NACK windows: SDCC (Section 3.2, equations 9 and 10), the fixed one, the one for the past."""

from __future__ import annotations

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.nack_window import (
    CatchUpWindow,
    FixedNackWindow,
    NackAnswer,
    RecoveryNackWindow,
)

UNIT = 100 * MILLISECOND
LARGEST = 10 * SECOND


class Recovery:
    """A recovering edge: one answer in each round trip."""

    def __init__(self) -> None:
        self.window = RecoveryNackWindow(CongestionParameters(), unit=UNIT, largest=LARGEST)
        self.now = 0

    def answer(self, round_trip: int | None) -> int:
        self.now += round_trip or 0
        self.window.answered(NackAnswer(UNIT, 0, False, round_trip, self.now))
        return self.window.size_ns


def test_it_starts_with_nwnd_0() -> None:
    assert Recovery().window.size_ns == 100 * MILLISECOND


def test_equation_10_the_window_opens_by_one_unit_while_the_rate_rises() -> None:
    """With an even round trip, one unit more is a higher rate (equation 9)."""
    recovery = Recovery()

    assert [recovery.answer(SECOND) for _ in range(3)] == [2 * UNIT, 3 * UNIT, 4 * UNIT]


def test_the_window_limits_itself_near_ten_units_whatever_the_round_trip() -> None:
    """One unit more is less than α_NACK more from ten units on (1,000 tickms, as in Fig. 8)."""
    for round_trip in (10 * MILLISECOND, 200 * MILLISECOND, 3 * SECOND):
        recovery = Recovery()
        for _ in range(100):
            size = recovery.answer(round_trip)
        assert 10 * UNIT <= size <= 12 * UNIT


def test_the_window_opens_further_when_answers_come_from_a_cache() -> None:
    """Fig. 8: towards the end of a recovery, round trips become shorter."""
    recovery = Recovery()
    for _ in range(100):
        plateau = recovery.answer(SECOND)
    for _ in range(10):
        size = recovery.answer(SECOND // 4)

    assert size > plateau


def test_equation_10_the_window_closes_by_one_unit_when_the_rate_falls() -> None:
    recovery = Recovery()
    for _ in range(8):
        before = recovery.answer(SECOND)

    assert recovery.answer(3 * SECOND) == before - UNIT


def test_between_alpha_and_beta_nothing_changes() -> None:
    recovery = Recovery()
    for _ in range(100):
        before = recovery.answer(SECOND)

    assert recovery.answer(SECOND * 5 // 4) == before


def test_it_never_closes_below_nwnd_0() -> None:
    recovery = Recovery()
    round_trip = SECOND
    for _ in range(20):
        round_trip *= 2
        size = recovery.answer(round_trip)

    assert size == 100 * MILLISECOND


def test_it_never_opens_beyond_the_receive_window() -> None:
    recovery = Recovery()
    round_trip = 1 << 60
    while round_trip > 1:
        size = recovery.answer(round_trip)
        round_trip //= 2
        assert size <= LARGEST


def test_there_is_one_decision_in_a_round_trip() -> None:
    recovery = Recovery()
    recovery.answer(SECOND)
    window = recovery.window
    for now in range(recovery.now, recovery.now + SECOND, SECOND // 10):
        window.answered(NackAnswer(UNIT, 0, False, SECOND, now))
        assert window.size_ns == 2 * UNIT

    assert recovery.answer(SECOND) == 3 * UNIT


def test_without_a_round_trip_nothing_is_decided() -> None:
    recovery = Recovery()

    assert recovery.answer(None) == UNIT


def test_every_recovery_starts_with_nwnd_0() -> None:
    recovery = Recovery()
    for _ in range(5):
        recovery.answer(SECOND)
    recovery.window.recovery_began(0)

    assert recovery.window.size_ns == 100 * MILLISECOND
    assert recovery.answer(SECOND) == 2 * UNIT


def test_the_fixed_window_learns_nothing() -> None:
    window = FixedNackWindow(LARGEST)
    window.recovery_began(0)
    window.answered(NackAnswer(UNIT, 1 << 20, True, SECOND, 0))

    assert window.size_ns == LARGEST


def catch_up(window: CatchUpWindow, span: int, count_bytes: int, *, more: bool = False) -> int:
    window.answered(NackAnswer(span, count_bytes, more, None, 0))
    return window.size_ns


def test_days_of_silence_pass_in_a_few_round_trips() -> None:
    window = CatchUpWindow(answer_bytes=1000)
    day, asked = 24 * 3600 * SECOND, 0
    trips = 0
    while asked < 10 * day:
        asked += window.size_ns
        catch_up(window, window.size_ns, 0)
        trips += 1

    assert trips <= 20


def test_a_full_answer_halves_the_window_down_to_twice_what_it_covered() -> None:
    """A narrower window would waste round trips: the source stops at the bytes of an answer."""
    window = CatchUpWindow(answer_bytes=1000)
    assert catch_up(window, SECOND // 10, 1000, more=True) == SECOND // 2
    for _ in range(40):
        catch_up(window, SECOND // 10, 1000, more=True)
    assert window.size_ns == SECOND // 5

    catch_up(window, SECOND // 20, 500)
    assert catch_up(window, SECOND // 20, 500, more=True) == SECOND // 5, "of all its frames"


def test_a_dense_past_does_not_widen_the_window() -> None:
    window = CatchUpWindow(answer_bytes=1000)

    assert catch_up(window, SECOND, 500) == SECOND


def test_the_pieces_of_one_answer_count_together() -> None:
    window = CatchUpWindow(answer_bytes=1000)

    assert catch_up(window, SECOND // 4, 300) == SECOND
    assert catch_up(window, SECOND // 4, 300) == SECOND
    assert catch_up(window, SECOND // 2, 100) == 2 * SECOND


def test_the_window_has_an_upper_bound() -> None:
    window = CatchUpWindow(answer_bytes=1000)
    window.recovery_began(0)
    for _ in range(100):
        catch_up(window, window.size_ns, 0)

    assert window.size_ns == CatchUpWindow.LARGEST


def whole_answer(window: CatchUpWindow, took_s: int, *, repeated: bool = False) -> int:
    """An answer that stopped at its limit; returns what the next one may bring."""
    took = None if repeated else took_s * SECOND
    window.answered(NackAnswer(SECOND, 1000, True, None, 0, None, repeated, took))
    return window.piece_bytes


def test_a_long_link_does_not_make_the_answers_of_a_catch_up_small() -> None:
    window = CatchUpWindow(1 << 20)
    for _ in range(7):
        whole_answer(window, took_s=3)
    assert window.piece_bytes == 1 << 20
    assert whole_answer(window, took_s=5) == 1 << 19


def test_an_answer_of_many_frames_is_judged_once() -> None:
    window = CatchUpWindow(1 << 20)
    whole_answer(window, took_s=1)
    for _ in range(5):
        window.answered(NackAnswer(SECOND, 1000, False, None, 0, 9 * SECOND))
    assert window.piece_bytes == 2 * CatchUpWindow.FIRST_BYTES


def test_a_request_that_had_to_be_repeated_makes_answers_smaller() -> None:
    window = CatchUpWindow(1 << 20)
    for _ in range(9):
        whole_answer(window, took_s=0, repeated=True)
    assert window.piece_bytes == CatchUpWindow.SMALLEST_BYTES
