"""A stream put together at an edge: exactly once, in order, whatever arrives, in whatever order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import InvariantBroken
from penstock.services.guaranteed.edge.stream import MAX_UNITS, EdgeStream
from penstock.services.guaranteed.laws.answer_round_trips import AnswerOrigin
from penstock.services.guaranteed.laws.nack_window import FixedNackWindow, NackAnswer
from penstock.services.guaranteed.messages import LIVE_FILTER
from penstock.services.guaranteed.parameters import GuaranteedParameters

UNIT = 10
WINDOW = 100


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


def stream(
    start: int = 0, *, window: int = WINDOW, nack_window: int = WINDOW, **parameters: Any
) -> EdgeStream:
    return EdgeStream(
        "p",
        "*",
        start,
        FixedNackWindow(nack_window),
        GuaranteedParameters(nack_unit_ns=UNIT, **parameters),
        receive_window=window,
    )


def test_contiguous_knowledge_is_handed_on_at_once() -> None:
    edge = stream()

    assert edge.receive(frame(0, 10, 3), 0) == [frame(0, 10, 3)]
    assert edge.horizon == 10
    assert edge.requests_due(0) == ()


def test_knowledge_behind_a_gap_waits_for_it() -> None:
    edge = stream()
    assert edge.receive(frame(10, 20, 15), 0) == []
    assert edge.weight > 0

    assert edge.receive(frame(0, 10, 5), 0) == [frame(0, 10, 5), frame(10, 20, 15)]
    assert edge.weight == 0


def test_what_is_known_is_not_handed_on_again() -> None:
    edge = stream(5)

    assert edge.receive(frame(0, 10, 3, 7), 0) == [frame(5, 10, 7)]
    assert edge.receive(frame(0, 10, 3, 7), 0) == []


def test_what_lies_beyond_the_receive_window_is_ignored_and_noted() -> None:
    edge = stream()
    assert edge.receive(frame(WINDOW, WINDOW + 10), 7) == []

    assert edge.ignored_at == 7
    assert edge.weight == 0
    assert edge.highest == WINDOW + 10


def test_a_frame_across_the_end_of_the_window_is_cut() -> None:
    edge = stream()
    edge.receive(frame(50, WINDOW + 50), 7)
    edge.check_invariants()

    assert edge.ignored_at == 7
    assert edge.receive(frame(0, 50), 8)[-1].high == WINDOW


def test_what_could_not_be_kept_is_not_asked_for() -> None:
    edge = stream(receive_window_bytes=1)
    edge.receive(frame(20, 30, 25), 0)
    edge.receive(frame(40, 50, 45), 0)

    assert edge.requests_due(0) == ((0, 20),), "and not what lies behind 30"
    edge.answered(frame(0, 20, 5), more=False, now=1)
    assert edge.weight == 0
    assert edge.requests_due(1) == ((30, 50),)


def test_an_answer_that_found_no_room_is_asked_for_again_as_soon_as_there_is() -> None:
    edge = stream(receive_window_bytes=1)
    edge.highest = 60
    assert edge.requests_due(0) == ((0, 60),)
    edge.answered(frame(10, 20, 15), more=False, now=1)
    edge.answered(frame(50, 60, 55), more=False, now=1)
    assert edge.requests_due(1) == ()

    edge.answered(frame(0, 10, 5), more=False, now=2)
    assert edge.horizon == 20
    assert edge.requests_due(2) == ((50, 60),), "the rest is under way"


def test_only_what_goes_on_where_the_held_ends_continues_it() -> None:
    edge = stream()
    assert edge.continues(frame(40, 50, 45)), "the first that is held"
    edge.receive(frame(40, 50, 45), 0)
    assert edge.continues(frame(50, 60, 55))
    assert edge.continues(frame(0, 40, 5))
    assert not edge.continues(frame(60, 70, 65))


def test_a_receive_window_that_is_full_in_bytes_ignores_too() -> None:
    edge = stream(receive_window_bytes=1)
    edge.receive(frame(10, 20), 1)
    assert edge.ignored_at is None

    edge.receive(frame(30, 40), 2)
    assert edge.ignored_at == 2
    assert edge.receive(frame(0, 10), 3)


def test_unknown_ticks_below_the_highest_seen_are_asked_for_once() -> None:
    edge = stream()
    edge.receive(frame(30, 40), 0)

    assert edge.requests_due(0) == ((0, 30),)
    assert edge.requests_due(1) == ()


def test_only_the_nack_window_is_asked_for() -> None:
    edge = stream(nack_window=2 * UNIT)
    edge.receive(frame(50, 60), 0)

    assert edge.requests_due(0) == ((0, 2 * UNIT),)


def test_as_the_horizon_moves_the_window_asks_for_whole_units() -> None:
    edge = stream(nack_window=2 * UNIT)
    edge.receive(frame(50, 60), 0)
    edge.requests_due(0)
    edge.answered(frame(0, 5), more=False, now=1)
    assert edge.requests_due(1) == ()

    edge.answered(frame(5, 10), more=False, now=1)
    assert edge.requests_due(1) == ((20, 30),)


def test_a_wide_window_is_asked_for_in_a_bounded_number_of_pieces() -> None:
    edge = stream(window=1 << 40, nack_window=1 << 30)
    edge.receive(frame(1 << 31, (1 << 31) + 1), 0)
    edge.requests_due(0)

    assert len(edge._requests) <= MAX_UNITS + 1


def test_an_overdue_request_is_repeated_later_and_later() -> None:
    edge = stream(nack_timeout_initial_ns=SECOND)
    edge.receive(frame(30, 40), 0)
    edge.requests_due(0)
    waits, now = [], 0
    for _ in range(5):
        deadline = edge.next_deadline()
        assert deadline is not None
        assert edge.requests_due(deadline - 1) == ()
        waits.append(deadline - now)
        now = deadline
        assert edge.requests_due(now) == ((0, 30),)

    assert [wait // SECOND for wait in waits] == [1, 2, 4, 8, 8]


def test_an_answer_to_a_reader_of_the_past_that_comes_piece_by_piece_is_not_repeated() -> None:
    for filter_text, expected in (("TRUE", ()), (LIVE_FILTER, ((2, 30),))):
        edge = EdgeStream(
            "p",
            filter_text,
            0,
            FixedNackWindow(WINDOW),
            GuaranteedParameters(nack_unit_ns=100, nack_timeout_initial_ns=SECOND),
            receive_window=WINDOW,
        )
        edge.receive(frame(30, 40), 0)
        assert edge.requests_due(0) == ((0, 30),)
        edge.answered(frame(0, 1), more=False, now=SECOND // 2)
        edge.answered(frame(1, 2), more=False, now=SECOND - 1)
        assert edge.requests_due(SECOND) == expected


def test_requests_of_one_moment_that_stay_without_answer_are_one_timeout() -> None:
    edge = stream(window=1000, nack_window=1000)
    for number in range(1, 6):
        edge.receive(frame(20 * number, 20 * number + 10, 20 * number), number)
        edge.requests_due(number)
    assert not edge.lacks_answers
    for number in range(1, 6):
        edge.requests_due(number + SECOND)
    # The first time-out is a second; the next is two, however many requests were repeated.
    assert edge.requests_due(3 * SECOND) == ()
    assert edge.requests_due(3 * SECOND + 5) != ()
    assert edge.lacks_answers


def test_what_is_requested_again_behind_an_answer_that_hit_a_limit_is_measured() -> None:
    edge = stream()
    edge.receive(frame(90, 100), 0)
    edge.requests_due(0)
    edge.answered(frame(0, 20), more=True, now=7)
    edge.requests_due(7)
    edge.answered(frame(20, 90), more=False, now=20)

    assert edge._round_trip.latest_ns == 13


def test_only_what_is_still_missing_of_a_request_is_repeated() -> None:
    edge = stream()
    edge.receive(frame(30, 40), 0)
    edge.requests_due(0)
    edge.answered(frame(10, 20), more=False, now=1)
    deadline = edge.next_deadline()
    assert deadline is not None

    assert edge.requests_due(deadline) == ((0, 10), (20, 30))


def test_an_answer_from_the_own_broker_is_no_sample_of_the_round_trip() -> None:
    edge = stream()
    edge.receive(frame(30, 40), 0)
    edge.requests_due(SECOND)
    edge.answered(frame(0, 20), more=False, now=SECOND)
    assert edge._round_trip.latest_ns is None
    edge.answered(frame(20, 30), more=False, now=SECOND + 500)
    assert edge._round_trip.latest_ns == 500


def test_karn_an_answer_to_a_repeated_request_is_not_measured() -> None:
    edge = stream(nack_timeout_initial_ns=SECOND)
    edge.receive(frame(30, 40), 0)
    edge.requests_due(0)
    edge.requests_due(SECOND)
    edge.answered(frame(0, 30), more=False, now=SECOND + MILLISECOND)
    assert edge._round_trip.smoothed_ns is None

    edge.receive(frame(50, 60), 2 * SECOND)
    edge.requests_due(2 * SECOND)
    edge.answered(frame(40, 50), more=False, now=2 * SECOND + MILLISECOND)
    assert edge._round_trip.smoothed_ns == MILLISECOND


@pytest.mark.parametrize(("answered_after_ms", "looks_lost"), [(10, False), (100, True)])
def test_the_late_answer_to_a_first_copy_does_not_make_the_others_look_lost(
    answered_after_ms: int, looks_lost: bool
) -> None:
    """Otherwise one request that was repeated too early would have all of them repeated."""
    edge = stream(nack_timeout_min_ns=MILLISECOND)
    edge.receive(frame(10, 20), 0)
    edge.requests_due(0)
    edge.answered(frame(0, 10), more=False, now=100 * MILLISECOND)
    usual = 300 * MILLISECOND
    edge.receive(frame(30, 40), SECOND)
    assert edge.requests_due(SECOND) == ((20, 30),)
    assert edge.requests_due(SECOND + usual) == ((20, 30),)
    between = SECOND + 400 * MILLISECOND
    edge.receive(frame(50, 60), between)
    assert edge.requests_due(between) == ((40, 50),)
    again = SECOND + 3 * usual
    assert edge.requests_due(again) == ((20, 30),)
    edge.answered(frame(20, 30), more=False, now=again + answered_after_ms * MILLISECOND)

    backed_off = between + 2 * usual
    assert edge.next_deadline() == (between + usual if looks_lost else backed_off)


def test_an_answer_that_hit_a_limit_frees_what_lies_behind_it() -> None:
    """The answers themselves are the clock: no time-out is waited for."""
    edge = stream()
    edge.receive(frame(50, 60), 0)
    assert edge.requests_due(0) == ((0, 50),)

    edge.answered(frame(0, 15), more=True, now=1)
    assert edge.requests_due(1) == ((15, 50),)


def test_when_the_way_up_has_changed_everything_is_asked_for_again() -> None:
    edge = stream()
    edge.receive(frame(30, 40), 0)
    edge.requests_due(0)
    edge.forget_requests()

    assert edge.next_deadline() is None
    assert edge.requests_due(1) == ((0, 30),)


def test_impossible_states_are_told() -> None:
    edge = stream()
    edge.receive(frame(30, 40), 0)
    edge.horizon = 35
    with pytest.raises(InvariantBroken, match="at or below"):
        edge.check_invariants()

    edge = stream()
    edge.receive(frame(30, 40), 0)
    edge.horizon = -90
    with pytest.raises(InvariantBroken, match="beyond the receive window"):
        edge.check_invariants()


LENGTH = 150
pieces = st.tuples(st.integers(0, LENGTH - 1), st.integers(1, 40))
rows = st.sets(st.integers(0, LENGTH - 1), max_size=30)


def part(rows: set[int], low: int, high: int) -> Frame:
    """What the pubend says of an interval."""
    return frame(low, high, *sorted(tick for tick in rows if low <= tick < high))


def check(handed: list[Frame], rows: set[int], horizon: int) -> None:
    """Everything below the horizon was handed on, once, in order, and it is true."""
    at = 0
    for each in handed:
        assert each.low == at
        at = each.high
    assert at == horizon
    told = [int(tick) for each in handed for tick in each.ticks]
    assert told == sorted(tick for tick in rows if tick < horizon)


@settings(max_examples=200, deadline=None)
@given(
    rows=rows,
    arrivals=st.lists(st.tuples(pieces, st.booleans()), max_size=25),
    nack_window=st.sampled_from([UNIT, 3 * UNIT, WINDOW]),
    answer_limit=st.integers(1, 60),
)
def test_whatever_arrives_every_tick_is_handed_on_once_in_order(
    rows: set[int],
    arrivals: list[tuple[tuple[int, int], bool]],
    nack_window: int,
    answer_limit: int,
) -> None:
    """Frames in any order, lost and doubled, then answers that stop at a limit."""
    edge = stream(nack_window=nack_window)
    handed: list[Frame] = []
    now = 0
    for (low, span), asking in arrivals:
        now += 1
        high = min(LENGTH, low + span)
        handed += edge.receive(part(rows, low, high), now)
        if asking:
            edge.requests_due(now)
        edge.check_invariants()
        check(handed, rows, edge.horizon)
    handed += edge.receive(part(rows, LENGTH - 1, LENGTH), now)

    for _ in range(4 * LENGTH):
        if edge.horizon >= LENGTH:
            break
        asked = edge.requests_due(now)
        assert all(edge.horizon <= low < high <= LENGTH for low, high in asked)
        for low, high in asked:
            end = min(high, low + answer_limit)
            handed += edge.answered(part(rows, low, end), more=end < high, now=now)
            edge.check_invariants()
        if not asked:
            deadline = edge.next_deadline()
            assert deadline is not None, "it neither asks nor waits"
            now = max(now + 1, deadline)
    assert edge.horizon == LENGTH
    check(handed, rows, LENGTH)


# -- answers from different brokers ----------------------------------------------------------------

NEAR, FAR = AnswerOrigin(links=1), AnswerOrigin(links=3)


def asked_twice(first: int, second: int) -> EdgeStream:
    """Ticks 0 to 10 are requested at one instant, and 20 to 30 at another."""
    edge = stream(nack_timeout_min_ns=MILLISECOND, nack_timeout_initial_ns=SECOND)
    edge.receive(frame(10, 20), first)
    edge.requests_due(first)
    edge.receive(frame(30, 40), second)
    edge.requests_due(second)
    return edge


@pytest.mark.parametrize(("origin", "looks_lost"), [(NEAR, False), (FAR, True)])
def test_an_answer_of_a_near_relay_overtakes_those_from_farther_on(
    origin: AnswerOrigin, looks_lost: bool
) -> None:
    edge = asked_twice(SECOND, SECOND + 500 * MILLISECOND)
    edge._round_trip.sample(100 * MILLISECOND, FAR.links)
    at = SECOND + 600 * MILLISECOND
    edge.answered(frame(20, 30), more=False, now=at, origin=origin)

    deadline = edge.next_deadline()
    assert deadline is not None
    assert (deadline <= at) is looks_lost


def test_the_time_that_a_request_was_under_way_for_others_counts() -> None:
    edge = asked_twice(SECOND, SECOND)
    origin = AnswerOrigin(links=3, ahead_ns=40)
    edge.answered(frame(0, 10), more=False, now=SECOND + 60, origin=origin)

    assert edge._round_trip.latest_ns == 100
    assert edge._round_trip.smoothed_over(3) == 100


def test_an_answer_in_parts_came_from_the_farthest_of_them() -> None:
    edge = asked_twice(SECOND, SECOND)
    edge.answered(frame(0, 5), more=False, now=SECOND + 500, origin=FAR)
    edge.answered(frame(5, 10), more=False, now=SECOND + 600, origin=NEAR)

    assert edge._round_trip.latest_links == FAR.links


def test_live_data_that_was_late_is_no_sample_of_the_round_trip() -> None:
    edge = asked_twice(SECOND, SECOND)
    edge.receive(frame(0, 10), SECOND + 5)

    assert edge.horizon == 20
    assert edge._round_trip.latest_ns is None


class Told(FixedNackWindow):
    """A window that notes what it is told."""

    def __init__(self) -> None:
        super().__init__(WINDOW)
        self.answers: list[NackAnswer] = []
        self.paths = 0

    def answered(self, answer: NackAnswer) -> None:
        self.answers.append(answer)

    def path_changed(self) -> None:
        self.paths += 1


@pytest.mark.parametrize(("answered_after_ms", "lost"), [(10, False), (100, True)])
def test_the_window_is_told_of_what_was_lost_and_not_of_what_was_repeated_too_early(
    answered_after_ms: int, lost: bool
) -> None:
    edge = asked_twice(SECOND, SECOND)
    edge.window = told = Told()
    edge._round_trip.sample(100 * MILLISECOND, FAR.links)
    edge.requests_due(2 * SECOND)
    at = 2 * SECOND + answered_after_ms * MILLISECOND
    edge.answered(frame(0, 10), more=False, now=at, origin=FAR)
    edge.answered(frame(20, 25), more=False, now=at, origin=FAR)

    assert [(each.repeated, each.lost) for each in told.answers] == [(True, lost), (False, False)]


def test_on_another_way_everything_is_measured_and_requested_anew() -> None:
    edge = asked_twice(SECOND, SECOND)
    edge.window = told = Told()
    edge.answered(frame(0, 5), more=True, now=SECOND + 500, origin=FAR)
    edge.path_changed()

    assert told.paths == 1
    assert edge.requests_due(SECOND + 600) == ((5, 10), (20, 30))
    assert edge._round_trip.latest_ns is None
