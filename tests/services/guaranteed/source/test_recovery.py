"""What a pubend reads and saves after a start."""

from __future__ import annotations

from typing import Any

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.core.machine import (
    Effect,
    LogRead,
    PersistState,
    ReadLog,
    Send,
)
from penstock.services.guaranteed.messages import (
    LogEntry,
    PublishReceipt,
)
from penstock.services.guaranteed.source.stream_writer import SILENT

START = 100 * SECOND


def batch(first: int, count: int) -> Batch:
    return Batch.from_rows([({"n": number}, b"") for number in range(first, first + count)])


def replies(effects: list[Effect]) -> list[Any]:
    return [effect.message for effect in effects if isinstance(effect, Send)]


def test_after_a_crash_repeats_are_known_from_the_log(pubend_bench: Any) -> None:
    bench = pubend_bench(bounds=(START, START + 20, 500), now=START + SECOND)
    (read,) = bench.pubend.start()
    assert read == ReadLog(1, "pubend/p", START, START + 20, 1 << 20)
    assert not bench.pubend.ready
    assert bench.publish(0, 4) == []

    entries = (
        LogEntry("a", 0, Frame(START, START + 10, range(START + 6, START + 10), batch(0, 4))),
        LogEntry(SILENT, 0, Frame(START + 10, START + 20)),
    )
    out: list[Effect] = []
    assert bench.pubend.log_read(LogRead(1, entries, START + 20), bench.now, out) is None

    assert bench.pubend.ready
    assert replies(out) == [PublishReceipt("a", 0, 4, 0)]


def test_the_log_is_read_only_from_where_the_saved_table_stops(pubend_bench: Any) -> None:
    before = pubend_bench()
    before.store(0, 4)
    (saved,) = [
        effect.values["pubend/p/producers"]
        for effect in before.deadline(START + 10 * SECOND)
        if isinstance(effect, PersistState)
    ]
    end = before.pubend.spoken_end
    bench = pubend_bench(bounds=(START, end + 7, 500), saved=saved, now=START + 20 * SECOND)

    (read,) = bench.pubend.start()
    assert isinstance(read, ReadLog)
    assert (read.low, read.high) == (end, end + 7)
    bench.pubend.log_read(LogRead(read.token, (), end + 7), bench.now, [])
    assert bench.pubend.next_sequence("a") == 4


def test_a_long_log_is_read_in_pieces(pubend_bench: Any) -> None:
    bench = pubend_bench(bounds=(START, START + 20, 500), now=START + SECOND)
    bench.pubend.start()
    out: list[Effect] = []
    entry = LogEntry("a", 0, Frame(START, START + 10, range(START, START + 10), batch(0, 10)))
    bench.pubend.log_read(LogRead(1, (entry,), START + 10), bench.now, out)

    assert out == [ReadLog(2, "pubend/p", START + 10, START + 20, 1 << 20)]
    assert not bench.pubend.ready


def test_a_new_pubend_has_nothing_to_read(pubend_bench: Any) -> None:
    bench = pubend_bench()

    assert not any(isinstance(effect, ReadLog) for effect in bench.pubend.start())
    assert bench.pubend.ready


def test_the_beginning_of_a_stream_survives_a_crash_before_the_first_log_entry(
    pubend_bench: Any,
) -> None:
    first = pubend_bench().pubend
    [saved] = first.start()
    assert isinstance(saved, PersistState)
    again = pubend_bench(beginning=saved.values["pubend/p/beginning"], now=START + SECOND).pubend
    assert (again.log_start, again.spoken_end) == (START, START)
    assert again.start() == []


def test_the_bounds_come_from_the_log_that_was_found(pubend_bench: Any) -> None:
    pubend = pubend_bench(
        bounds=(START + 5, START + 9, 100), beginning=START.to_bytes(8, "big")
    ).pubend
    assert (pubend.log_start, pubend.spoken_end) == (START + 5, START + 9)
