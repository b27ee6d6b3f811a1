"""Ticks, persist before speak, repeats, silence, a failed sync."""

from __future__ import annotations

from typing import Any

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.core.machine import (
    Effect,
    Persist,
    Send,
)
from penstock.services.guaranteed.messages import (
    LogEntry,
    PublishReceipt,
    PublishRefused,
)
from penstock.services.guaranteed.source.stream_writer import SILENT

START = 100 * SECOND


def batch(first: int, count: int) -> Batch:
    return Batch.from_rows([({"n": number}, b"") for number in range(first, first + count)])


def numbers(frames: list[Frame]) -> list[int]:
    return [row["n"] for frame in frames for row in frame.batch.attribute_rows()]  # type: ignore[misc]


def only_persist(effects: list[Effect]) -> Persist:
    (persist,) = effects
    assert isinstance(persist, Persist)
    return persist


def replies(effects: list[Effect]) -> list[Any]:
    return [effect.message for effect in effects if isinstance(effect, Send)]


def test_rows_take_consecutive_ticks_from_the_present_on(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.now += 50
    entry = only_persist(bench.publish(0, 3)).frame

    assert entry == LogEntry(
        "a", 0, Frame(START, START + 53, range(START + 50, START + 53), batch(0, 3))
    )


def test_ticks_never_go_back_when_rows_come_faster_than_the_clock(pubend_bench: Any) -> None:
    bench = pubend_bench()
    first = only_persist(bench.publish(0, 10)).frame.frame
    second = only_persist(bench.publish(10, 5)).frame.frame

    assert list(first.ticks) == list(range(START, START + 10))
    assert list(second.ticks) == list(range(START + 10, START + 15))
    assert second.low == first.high


def test_nothing_is_said_before_it_is_durable(pubend_bench: Any) -> None:
    bench = pubend_bench()
    persist = only_persist(bench.publish(0, 2))
    assert bench.pubend.spoken_end == START

    out = bench.resolve(persist.token)
    assert numbers(bench.spoken) == [0, 1]
    assert replies(out) == [PublishReceipt("a", 0, 2, START)]


def test_receipts_and_data_leave_in_the_order_of_ticks(pubend_bench: Any) -> None:
    bench = pubend_bench()
    first = only_persist(bench.publish(0, 1)).token
    second = only_persist(bench.publish(1, 1)).token

    assert bench.resolve(second) == []
    assert bench.spoken == []
    out = bench.resolve(first)
    assert numbers(bench.spoken) == [0, 1]
    assert [reply.first_sequence for reply in replies(out)] == [0, 1]


def test_a_refused_publication_leaves_silence_and_can_be_repeated(pubend_bench: Any) -> None:
    bench = pubend_bench()
    refused = only_persist(bench.publish(0, 5)).token
    kept = only_persist(bench.publish(5, 1)).token

    assert replies(bench.resolve(refused, "the disk is full")) == [
        PublishRefused("a", 0, 5, "the disk is full")
    ]
    bench.resolve(kept)
    (frame,) = bench.spoken
    assert (frame.low, list(frame.ticks)) == (START, [START + 5])

    assert replies(bench.store(0, 5)) == [PublishReceipt("a", 0, 5, START + 6)]
    assert numbers(bench.spoken) == [5, 0, 1, 2, 3, 4]


def test_a_repeat_is_confirmed_and_not_stored_again(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.store(0, 3)
    out = bench.publish(0, 3)

    assert replies(out) == [PublishReceipt("a", 0, 3, 0)]
    assert len(out) == 1
    assert numbers(bench.spoken) == [0, 1, 2]


def test_a_repeat_is_not_confirmed_before_the_first_attempt_is_durable(pubend_bench: Any) -> None:
    bench = pubend_bench()
    first = only_persist(bench.publish(0, 2)).token
    assert bench.publish(0, 2) == []

    assert len(replies(bench.resolve(first))) == 2
    assert numbers(bench.spoken) == [0, 1]


def test_a_repeat_of_what_is_then_refused_is_refused_too(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.store(0, 2)
    second = only_persist(bench.publish(2, 2)).token
    assert bench.publish(0, 4) == []

    out = replies(bench.resolve(second, "the disk is full"))
    assert [type(each) for each in out] == [PublishRefused, PublishReceipt, PublishRefused]
    assert out[1] == PublishReceipt("a", 0, 2, 0)
    assert (out[2].first_sequence, out[2].count) == (2, 2)


def test_an_idle_pubend_says_that_it_is_silent_once_that_is_durable(pubend_bench: Any) -> None:
    bench = pubend_bench()
    assert bench.pubend.next_deadline() == START + SECOND
    persists = [e for e in bench.deadline(START + SECOND) if isinstance(e, Persist)]
    (persist,) = persists

    assert persist.frame == LogEntry(SILENT, 0, Frame(START, START + SECOND))
    assert bench.spoken == []
    bench.resolve(persist.token)
    assert bench.spoken == [Frame(START, START + SECOND)]


def test_a_busy_pubend_says_no_silence(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.now = START + SECOND // 2
    bench.store(0, 1)

    assert not any(isinstance(e, Persist) for e in bench.deadline(START + SECOND))


def test_a_failed_sync_is_uncertain_and_closes_the_pubend(pubend_bench: Any) -> None:
    bench = pubend_bench()
    bench.store(0, 2)
    first = only_persist(bench.publish(2, 1))
    second = only_persist(bench.publish(3, 1))
    assert replies(bench.resolve(first.token, "EIO", uncertain=True)) == [
        PublishRefused("a", 2, 1, "EIO", uncertain=True)
    ]
    # It was ordered and never written: a refusal, which is certain.
    assert replies(bench.resolve(second.token, "closed")) == [PublishRefused("a", 3, 1, "closed")]
    (later,) = replies(bench.publish(4, 1))
    assert not later.uncertain
    assert "takes nothing more until the broker is started again: EIO" in later.reason
    assert numbers(bench.spoken) == [0, 1]
    # It says nothing more of its stream, silence included.
    assert not [each for each in bench.deadline(START + 60 * SECOND) if isinstance(each, Persist)]


def test_a_repeat_of_what_is_uncertain_is_uncertain_too(pubend_bench: Any) -> None:
    bench = pubend_bench()
    persist = only_persist(bench.publish(0, 3))
    bench.resolve(persist.token, "EIO", uncertain=True)
    (repeat,) = replies(bench.publish(1, 5))
    assert (repeat.first_sequence, repeat.count, repeat.uncertain) == (1, 5, True)
    (other,) = replies(bench.publish(0, 3, producer="b"))
    assert not other.uncertain
