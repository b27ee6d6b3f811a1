"""Dispatching ready rows to consumers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.selectors.parser import parse
from penstock.core.clock import SECOND
from penstock.services.queues.log.append import entry_of
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.queue.consumers import Consumers, QueueConsumer
from penstock.services.queues.queue.dispatch import Dispatcher, runs_of
from penstock.services.queues.queue.prepared import PreparedRows
from penstock.services.queues.queue.ready import ReadyRows


class Desk:
    """A dispatcher over rows that are all ready."""

    def __init__(self, *rows, memory_bytes=1 << 20):
        self.entries, self.ready, self.consumers = Entries(memory_bytes), ReadyRows(), Consumers()
        self.attempts: dict[int, int] = {}
        self.dispatcher = Dispatcher(
            self.entries, self.ready, PreparedRows(), self.consumers, self.attempts
        )
        for each in rows:
            self.entries.add(entry_of(each))
            self.ready.add(each.priority, each.frame.low, each.frame.high)

    def consumer(self, name, credit, selector=""):
        consumer = QueueConsumer("s", name, parse(selector) if selector else None)
        self.consumers.add(consumer)
        self.consumers.grant(consumer, credit, 1000)
        return consumer

    def dispatch(self):
        out = []
        needed = self.dispatcher.dispatch(0, out)
        got = [(each.message.consumer, [int(t) for t in each.message.frame.ticks]) for each in out]
        return got, needed, out


def test_rows_are_shared_equally_and_within_credit(make_rows):
    desk = Desk(make_rows(1, 6))
    desk.consumer("a", 10)
    desk.consumer("b", 2)
    got, needed, _ = desk.dispatch()
    assert got == [("a", [1, 2, 3]), ("b", [4, 5]), ("a", [6])]
    assert needed is None
    assert desk.ready.count == 0


def test_consumers_get_what_they_finish_at_the_same_time(make_rows):
    desk = Desk(make_rows(1, 100))
    quick, slow = desk.consumer("quick", 200), desk.consumer("slow", 200)
    desk.consumers.worked(quick, 90, SECOND)
    desk.consumers.worked(slow, 10, SECOND)
    desk.dispatch()
    assert (quick.in_flight_count, slow.in_flight_count) == (90, 10)
    assert desk.ready.count == 0


def test_a_consumer_that_has_its_part_gets_more_when_it_has_worked(make_rows):
    desk = Desk(make_rows(1, 100))
    quick, slow = desk.consumer("quick", 50), desk.consumer("slow", 200)
    desk.consumers.worked(quick, 90, SECOND)
    desk.consumers.worked(slow, 10, SECOND)
    desk.dispatch()
    assert (quick.in_flight_count, slow.in_flight_count, desk.ready.count) == (50, 10, 40)
    for low, high in list(slow.in_flight):
        slow.release(low, high)
    desk.dispatch()
    assert (slow.in_flight_count, desk.ready.count) == (10, 30)
    desk.consumers.remove(quick)
    desk.dispatch()
    assert desk.ready.count == 0


def test_a_higher_priority_is_delivered_first(make_rows):
    desk = Desk(make_rows(1, 2), make_rows(3, 2, priority=9))
    desk.consumer("a", 3)
    got, _, _ = desk.dispatch()
    assert [row for _, rows in got for row in rows] == [3, 4, 1]


def test_a_selector_takes_what_matches_and_rests_otherwise(make_rows):
    desk = Desk(make_rows(1, 6))
    consumer = desk.consumer("odd", 10, "n = 2 OR n = 5")
    got, _, _ = desk.dispatch()
    assert got == [("odd", [2, 5])]
    assert list(consumer.in_flight) == [(2, 3), (5, 6)]
    assert desk.ready.within(4, 0, 99) == [(1, 2), (3, 5), (6, 7)]
    assert desk.consumers.turns == 0


def test_redelivered_rows_carry_their_attempts(make_rows):
    desk = Desk(make_rows(1, 3))
    desk.attempts.update({2: 1, 9: 4})
    desk.consumer("a", 10)
    _, _, (sent,) = desk.dispatch()
    assert sent.message.attempts == ((2, 1),)


def test_a_missing_body_is_asked_for_and_the_turn_is_kept(make_rows):
    desk = Desk(make_rows(1, 3), memory_bytes=1)
    desk.consumer("a", 10)
    got, needed, _ = desk.dispatch()
    assert (got, needed) == ([], 1)
    desk.entries.load(make_rows(1, 3).frame)
    assert desk.dispatch()[0] == [("a", [1, 2, 3])]


@given(st.sets(st.integers(0, 40)))
def test_runs_are_maximal_intervals(positions):
    class FakeFrame:
        ticks = np.array(sorted(positions), dtype=np.int64)

    runs = runs_of(FakeFrame())
    assert [n for low, high in runs for n in range(low, high)] == sorted(positions)
    assert all(runs[each][1] < runs[each + 1][0] for each in range(len(runs) - 1))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_runs_of_a_range(make_rows, count):
    frame = make_rows(5, 3).frame.slice(5, 5 + count)
    assert runs_of(frame) == ([(5, 5 + count)] if count else [])
