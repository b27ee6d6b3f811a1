"""Answers from the log: contiguous, bounded, final where the log has nothing."""

from __future__ import annotations

from typing import Any

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.core.machine import (
    Effect,
    LogRead,
    ReadLog,
)
from penstock.services.guaranteed.messages import (
    LogEntry,
)

START = 100 * SECOND


def batch(first: int, count: int) -> Batch:
    return Batch.from_rows([({"n": number}, b"") for number in range(first, first + count)])


def numbers(frames: list[Frame]) -> list[int]:
    return [row["n"] for frame in frames for row in frame.batch.attribute_rows()]  # type: ignore[misc]


def read(bench: Any, low: int, high: int) -> ReadLog:
    out: list[Effect] = []
    bench.pubend.request(low, high, "TRUE", out)
    (order,) = out
    assert isinstance(order, ReadLog)
    return order


def test_a_reader_of_the_past_is_answered_in_pieces_of_bounded_frames(pubend_bench: Any) -> None:
    bench = pubend_bench(answer_frames=7)
    bench.now += 10
    bench.store(0, 2)
    out: list[Effect] = []
    bench.pubend.request(START, START + 10, "TRUE", out, max_bytes=500)

    (order,) = out
    assert isinstance(order, ReadLog)
    assert (order.max_bytes, order.max_frames) == (500, 7)
    assert read(bench, START, START + 10).max_frames == 0


def test_a_request_is_answered_with_contiguous_knowledge(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.now += 10
    bench.store(0, 2)
    bench.now += 10
    bench.store(2, 1)
    order = read(bench, START + 5, START + 1000)
    assert order.high == bench.pubend.spoken_end == START + 21
    entries = tuple(LogEntry("a", 0, frame) for frame in bench.spoken)

    answer = bench.pubend.log_read(LogRead(order.token, entries, START + 21), bench.now, [])

    assert answer is not None
    assert not answer.more
    assert [(frame.low, frame.high) for frame in answer.frames] == [
        (START + 5, START + 12),
        (START + 12, START + 21),
    ]
    assert numbers(answer.frames) == [0, 1, 2]


def test_an_answer_that_hit_the_limit_says_that_there_is_more(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.store(0, 5)
    order = read(bench, START, START + 5)
    answer = bench.pubend.log_read(
        LogRead(order.token, (LogEntry("a", 0, bench.spoken[0]),), START + 2), bench.now, []
    )

    assert answer is not None
    assert answer.more
    assert [(frame.low, frame.high) for frame in answer.frames] == [(START, START + 2)]


def test_ticks_below_the_log_are_final(pubend_bench: Any) -> None:
    bench = pubend_bench(bounds=(START, START + 20, 500), now=START + SECOND)
    bench.pubend.start()
    bench.pubend.log_read(LogRead(1, (), START + 20), bench.now, [])
    order = read(bench, START - 50, START + 5)
    answer = bench.pubend.log_read(LogRead(order.token, (), START + 5), bench.now, [])

    assert answer is not None
    assert answer.frames == [Frame(START - 50, START, final=True), Frame(START, START + 5)]


def test_what_is_not_durable_cannot_be_requested(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.publish(0, 5)
    out: list[Effect] = []
    bench.pubend.request(START, START + 5, "TRUE", out)

    assert out == []


def test_a_damaged_interval_is_answered_as_final_and_what_follows_as_it_is(
    pubend_bench: Any,
) -> None:
    bench = pubend_bench(bounds=(100, 200, 1000))
    entry = LogEntry("a", 0, Frame(100, 120, range(110, 112), batch(0, 2)))
    later = LogEntry("a", 5, Frame(150, 170, range(160, 162), batch(5, 2)))
    (recovery,) = bench.pubend.start()
    assert isinstance(recovery, ReadLog)
    read = LogRead(recovery.token, (entry, later), 200, 100, ((120, 150),))
    assert bench.pubend.log_read(read, START, []) is None
    assert bench.pubend.ready, "what is damaged does not keep the pubend from starting"
    # The numbers of the lost rows are free: who repeats them has them stored.
    assert bench.pubend.next_sequence("a") == 7
    out: list[Effect] = []
    bench.pubend.request(105, 200, "", out)
    (order,) = out
    assert isinstance(order, ReadLog)
    answer = bench.pubend.log_read(
        LogRead(order.token, (entry, later), 200, 105, ((120, 150),)), START, []
    )
    assert answer is not None
    assert [(each.low, each.high, len(each), each.final) for each in answer.frames] == [
        (105, 120, 2, False),
        (120, 150, 0, True),
        (150, 170, 2, False),
        (170, 200, 0, False),
    ]
    (problem,) = bench.pubend.problems(START)
    assert "[120, 150)" in problem
    assert list(bench.pubend.lost) == [(120, 150)]


def test_an_answer_may_be_lost_altogether(pubend_bench: Any) -> None:
    bench = pubend_bench(bounds=(100, 200, 1000))
    out: list[Effect] = []
    bench.pubend.request(120, 140, "", out)
    (order,) = out
    assert isinstance(order, ReadLog)
    answer = bench.pubend.log_read(LogRead(order.token, (), 140, 120, ((110, 150),)), START, [])
    assert answer is not None
    assert answer.frames == [Frame(120, 140, final=True)]
