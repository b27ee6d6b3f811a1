"""Subscribers that read the past: catching up, slices, slow readers."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.core.machine import CloseSession
from penstock.services.guaranteed.laws.nack_window import CatchUpWindow
from penstock.services.guaranteed.messages import (
    LIVE_FILTER,
    Nack,
    Taken,
)

START = 1000
FIRST_BYTES = CatchUpWindow.FIRST_BYTES


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick, "even": tick % 2 == 0}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


class SlowReader:
    """A reader of everything with a window of one frame, and the log that the broker asks."""

    def __init__(self, edge_bench: Any, **parameters: Any) -> None:
        self.bench = edge_bench(**parameters)
        self.bench.subscribe("slow", window_bytes=1)
        self.bench.subscribe("quick", session="d")
        self.bench.confirm()
        self.log: list[Frame] = []
        self.subscription = self.bench.edge.subscriptions()[0]

    def publish(self, count: int) -> None:
        for _ in range(count):
            low = START + 10 * len(self.log)
            self.log.append(frame(low, low + 10, low))
            self.bench.hear(self.log[-1])

    def take(self) -> None:
        """The reader takes what it has, and the log answers what is asked for because of that."""
        bench = self.bench
        bench.now += 1
        bench.client("c", Taken("slow", 1 << 20))
        while nacks := bench.said(Nack):
            for nack in nacks:
                ((low, high),) = nack.intervals
                found = [part for part in self.log if part.low < high and part.high > low]
                assert nack.filter == "TRUE"
                # One frame at a time, as if each filled an answer.
                bench.hear(found[0].slice(low, high), "TRUE", more=len(found) > 1)
            bench.deadline(bench.now)

    @property
    def published(self) -> list[int]:
        return [part.low for part in self.log]


def reader_of_the_past_without_room(edge_bench: Any) -> Any:
    """It was given more than its window, and there is more."""
    bench = edge_bench()
    bench.subscribe("s", start="earliest", window_bytes=1)
    bench.confirm(START, earliest=900)
    bench.said(Nack)
    bench.hear(frame(900, 940, 910), "TRUE", more=True)
    return bench


def test_a_subscriber_that_starts_in_the_past_catches_up_and_joins_live(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s", "even = TRUE", start="earliest")
    bench.confirm(START, earliest=900)
    assert bench.said(Nack) == [Nack("p", ((900, START),), "even = TRUE", FIRST_BYTES, joins=True)]

    bench.hear(frame(START, START + 10, 1002, 1003))
    bench.hear(frame(900, START, 902, 950), "even = TRUE")
    bench.hear(frame(START + 10, START + 20, 1012))

    assert bench.rows("s") == [902, 950, 1002, 1012]
    (subscription,) = bench.edge.subscriptions()
    assert list(subscription.live) == ["p"]
    assert subscription.catching_up == {}


def test_catching_up_continues_where_an_answer_stopped(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("s", start="earliest")
    bench.confirm(START, earliest=900)
    bench.said(Nack)
    bench.now = 1
    bench.hear(frame(900, 940, 910), "TRUE", more=True)

    twice = 2 * FIRST_BYTES
    assert bench.said(Nack) == [Nack("p", ((940, START),), "TRUE", twice, joins=True)]


def test_frames_that_become_ready_at_once_are_delivered_in_slices(edge_bench: Any) -> None:
    bench = edge_bench(answer_frames=3)
    bench.subscribe("s", start="earliest")
    bench.confirm(START, earliest=900)
    bench.said(Nack)
    live = list(range(START, START + 80, 10))
    for tick in live:
        bench.hear(frame(tick, tick + 10, tick))
    bench.now = 1
    bench.hear(frame(900, START, 950), "TRUE")
    assert bench.rows("s") == [950, *live[:2]]

    assert (bench.edge.next_deadline() or 0) <= bench.now
    bench.hear(frame(START + 80, START + 90, START + 85))
    assert bench.rows("s") == [950, *live[:2]], "what arrives meanwhile makes no slice larger"
    bench.deadline(1)
    assert bench.rows("s") == [950, *live[:5]]
    bench.deadline(1)
    bench.deadline(1)
    assert bench.rows("s") == [950, *live, START + 85]
    (subscription,) = bench.edge.subscriptions()
    assert list(subscription.live) == ["p"]


def test_a_reader_that_makes_room_gets_the_next_slice(edge_bench: Any) -> None:
    bench = edge_bench(answer_frames=2)
    bench.subscribe("s", start="earliest", window_bytes=600)
    bench.confirm(START, earliest=900)
    bench.hear(frame(START, START + 10, START))
    bench.hear(frame(START + 10, START + 20, START + 10))
    bench.hear(frame(900, START, *range(900, 960)), "TRUE")
    bench.deadline(1)
    assert START + 10 not in bench.rows("s")

    bench.now = 1
    bench.client("c", Taken("s", 1 << 20))
    assert bench.rows("s")[-2:] == [START, START + 10]


def test_what_was_answered_at_once_is_followed_by_a_request_in_the_next_turn(
    edge_bench: Any,
) -> None:
    bench = edge_bench()
    bench.subscribe("s", start="earliest")
    bench.confirm(START, earliest=900)
    bench.said(Nack)
    bench.hear(frame(900, 940, 910), "TRUE", more=True)
    assert bench.said(Nack) == []

    assert (bench.edge.next_deadline() or 0) <= bench.now
    bench.deadline(bench.now)
    assert bench.said(Nack) == [Nack("p", ((940, START),), "TRUE", FIRST_BYTES, joins=True)]


def test_a_subscriber_that_does_not_read_does_not_fetch_more_of_the_past(edge_bench: Any) -> None:
    bench = reader_of_the_past_without_room(edge_bench)
    assert bench.said(Nack) == []

    bench.now = 1
    bench.client("c", Taken("s", 1 << 20))
    assert bench.said(Nack) == [Nack("p", ((940, START),), "TRUE", FIRST_BYTES, joins=True)]


def test_a_live_subscriber_is_not_disturbed_by_one_that_catches_up(edge_bench: Any) -> None:
    bench = edge_bench()
    bench.subscribe("live")
    bench.confirm()
    bench.subscribe("late", session="d", positions={"p": 900})
    bench.hear(frame(START, START + 10, 1001))
    bench.hear(frame(900, START, 950), "TRUE")
    bench.hear(frame(START, START + 10, 1001), "TRUE")

    assert bench.rows("live") == [1001]
    assert bench.rows("late") == [950, 1001]


def test_live_knowledge_from_before_its_selector_was_in_force_is_not_taken_for_the_past(
    edge_bench: Any,
) -> None:
    """It was filtered for others: what they did not want would seem to be silence."""
    bench = edge_bench()
    bench.subscribe("even", "even = TRUE")
    bench.confirm(START)
    bench.subscribe("all", session="d", positions={"p": START})
    bench.confirm(START + 10)
    bench.hear(frame(START, START + 10, 1002))
    assert bench.rows("all") == []

    bench.hear(frame(START, START + 10, 1002, 1003), "TRUE")
    assert bench.rows("all") == [1002, 1003]
    assert bench.rows("even") == [1002]


def test_a_subscriber_that_reads_too_slowly_goes_on_from_the_log_without_a_disconnection(
    edge_bench: Any,
) -> None:
    slow = SlowReader(edge_bench, session_buffer_bytes=300)
    slow.bench.now = 7
    slow.publish(20)

    assert slow.bench.ordered(CloseSession) == []
    assert slow.bench.rows("quick") == slow.published
    assert list(slow.subscription.catching_up) == ["p"]
    assert (slow.subscription.slow_since, slow.subscription.times_slow) == (7, 1)
    assert slow.bench.said(Nack) == [], "nothing is read for it before it has room"

    while slow.subscription.catching_up:
        slow.take()
    slow.publish(1)
    slow.take()
    assert slow.bench.rows("slow") == slow.published
    assert (slow.subscription.slow_since, slow.subscription.times_slow) == (None, 1)
    assert list(slow.subscription.live) == ["p"]


def test_a_slow_subscriber_is_given_everything_once_while_others_publish_on(
    edge_bench: Any,
) -> None:
    slow = SlowReader(edge_bench, session_buffer_bytes=300)
    for _ in range(50):
        slow.publish(3)
        slow.take()
    while slow.subscription.catching_up or slow.subscription.buffered_bytes:
        slow.take()

    assert slow.subscription.times_slow == 1, "who does not catch up does not go to and fro"
    assert slow.bench.rows("slow") == slow.published
    assert slow.bench.rows("quick") == slow.published


def test_a_slow_subscriber_is_not_live_again_before_what_waits_is_taken(edge_bench: Any) -> None:
    slow = SlowReader(edge_bench, session_buffer_bytes=1000)
    while not slow.subscription.catching_up:
        slow.publish(1)
    waiting = slow.subscription.buffered_bytes
    assert waiting > 1000
    slow.take()
    assert 0 < slow.subscription.buffered_bytes < waiting
    assert list(slow.subscription.catching_up) == ["p"]

    while slow.subscription.buffered_bytes:
        slow.take()
    slow.take()
    assert list(slow.subscription.live) == ["p"]
    assert slow.bench.said(Nack) == [], "there was nothing that it did not have"


def test_for_a_subscriber_that_takes_nothing_nothing_is_requested_or_held(edge_bench: Any) -> None:
    slow = SlowReader(edge_bench, session_buffer_bytes=300)
    slow.publish(20)
    held = slow.subscription.buffered_bytes
    slow.publish(1000)
    slow.bench.path_changed()
    for second in range(1, 100):
        slow.bench.deadline(second * SECOND)

    assert slow.bench.said(Nack) == []
    assert slow.subscription.buffered_bytes == held <= 300 + frame(0, 10, 5).weight
    assert slow.subscription.catching_up["p"].weight == 0
    assert slow.bench.ordered(CloseSession) == []


def test_requests_are_not_repeated_for_a_reader_without_room(edge_bench: Any) -> None:
    """Each repetition would bring an answer that waits in the broker's memory."""
    bench = reader_of_the_past_without_room(edge_bench)
    for second in range(1, 100):
        bench.deadline(second * SECOND)
    bench.path_changed()
    assert bench.said(Nack) == []

    bench.client("c", Taken("s", 1 << 20))
    assert bench.said(Nack) == [Nack("p", ((940, START),), "TRUE", FIRST_BYTES, joins=True)]


def test_a_subscriber_that_catches_up_holds_one_piece_of_the_live_stream_at_most(
    edge_bench: Any,
) -> None:
    bench = edge_bench(session_buffer_bytes=300)
    bench.subscribe("s", start="earliest")
    bench.confirm(START, earliest=900)
    bench.said(Nack)
    (subscription,) = bench.edge.subscriptions()
    for tick in range(START, START + 1000, 10):
        bench.hear(frame(tick, tick + 10, tick))
    assert 300 <= subscription.catching_up["p"].weight < 300 + 2 * frame(0, 10, 5).weight

    bench.now = 1
    bench.hear(frame(900, START, 950), "TRUE")
    rows = bench.rows("s")
    assert rows == [950, *range(START, rows[-1] + 1, 10)]
    (nack,) = bench.said(Nack)
    assert nack.intervals == ((rows[-1] + 10, START + 1000),)


def test_a_tick_that_is_lost_overflows_the_buffer_as_rows_do(edge_bench: Any) -> None:
    bench = edge_bench(session_buffer_bytes=1)
    bench.subscribe("slow", window_bytes=1)
    bench.confirm()
    for low in range(START, START + 30, 10):
        bench.hear(Frame(low, low + 10, final=True), LIVE_FILTER)
    (subscription,) = bench.edge.subscriptions()
    assert list(subscription.catching_up) == ["p"]
    assert subscription.positions == {"p": START + 20}
