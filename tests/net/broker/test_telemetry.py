from __future__ import annotations

import asyncio

from penstock.core.trace import TraceRecord
from penstock.net.broker.telemetry import LinkMeasure, Telemetry
from penstock.overlay.link_queue import LinkStatistics

COUNTS = LinkStatistics(
    queued_bytes=1,
    queued_messages=2,
    high_water_bytes=3,
    sent_bytes=4,
    sent_messages=5,
    dropped_messages=6,
    dropped_bytes=7,
    flushed_messages=8,
)


async def test_the_records_of_one_turn_are_handed_over_together() -> None:
    batches: list[list[TraceRecord]] = []
    telemetry = Telemetry("b", batches.append)
    records = [TraceRecord(number, "b", "s", "m", 1.0) for number in range(5)]

    for record in records:
        telemetry.add(record)
    assert batches == []
    await asyncio.sleep(0)

    assert batches == [records]


async def test_links_are_measured_by_their_counts() -> None:
    batches: list[list[TraceRecord]] = []
    telemetry = Telemetry("b", batches.append)

    telemetry.measure_links([LinkMeasure("c", COUNTS, 800, 3000)], 9)
    telemetry.flush()

    assert batches == [
        [
            TraceRecord(9, "b", "b->c", "queue_bytes", 1),
            TraceRecord(9, "b", "b->c", "most_queued_bytes", 3000),
            TraceRecord(9, "b", "b->c", "sent_bytes", 4),
            TraceRecord(9, "b", "b->c", "sent_messages", 5),
            TraceRecord(9, "b", "b->c", "dropped_messages", 6),
            TraceRecord(9, "b", "b->c", "bandwidth_bytes_per_s", 800),
        ]
    ]


async def test_every_sink_gets_everything() -> None:
    first: list[list[TraceRecord]] = []
    second: list[list[TraceRecord]] = []
    telemetry = Telemetry("b", first.append)
    telemetry.add_sink(second.append)
    telemetry.add(TraceRecord(1, "b", "s", "m", 1.0))
    telemetry.flush()

    assert first == second == [[TraceRecord(1, "b", "s", "m", 1.0)]]


async def test_without_a_sink_nothing_is_kept() -> None:
    telemetry = Telemetry("b")
    telemetry.add(TraceRecord(1, "b", "s", "m", 1.0))
    telemetry.flush()

    assert telemetry._records == []
