"""A consumer that was away: ``python -m benchmarks.measures.recovery [--scale small]``.

1. There are two subscriptions; the consumer of one is away while a backlog is sent, and the other
   consumer reads it.
2. Then messages are sent at a steady rate to the live consumer: its delay before the return.
3. The first consumer returns and reads until it has the backlog: how long this takes, and how it
   affects the delay of the live consumer.

The server's memory is measured before the backlog and with it.
"""

from __future__ import annotations

import time
from typing import Final

from benchmarks.harness.clients import Signals, client
from benchmarks.harness.command import alone
from benchmarks.harness.server import Server
from benchmarks.harness.subscriptions import subscriptions
from benchmarks.harness.usage import memory_bytes
from benchmarks.measures.measure import Case, Column, Figures, Measure, Scale
from benchmarks.measures.pace import Arrivals, consume_steadily, produce_steadily
from benchmarks.measures.throughput import consume, produce, whole_bursts
from benchmarks.peers.peer import Variant

SIZE_BYTES: Final = 100
LIVE_MSGS_PER_S: Final = 2_000
"""Slow enough for every peer to have capacity for a recovery beside it."""

LIVE, AWAY = "live", "away"

BACKLOG: Final = Column("backlog")
TOOK: Final = Column("s to catch up", "{:.1f}")
RATE: Final = Column("messages/s", better="more")
BEFORE: Final = Column("live p99 before, ms", "{:.1f}")
MEANWHILE: Final = Column("live p99 meanwhile, ms", "{:.1f}", better="less")
IDLE: Final = Column("MB before")
HELD: Final = Column("MB with the backlog", better="less")


async def catch_up(
    signals: Signals, variant: Variant, server: Server, count: int
) -> tuple[int, int]:
    """Return and receive ``count`` messages; the instants of the return and of the last message."""
    began_ns = time.monotonic_ns()
    async with variant.receiver(server, AWAY, SIZE_BYTES) as receiver:
        left = count
        while left > 0:
            left -= len(await receiver.receive())
        ended_ns = time.monotonic_ns()
        await receiver.settle()
    return began_ns, ended_ns


def run(variant: Variant, server: Server, case: Case, scale: Scale) -> Figures:
    """A backlog, then a steady rate, then the return."""
    backlog = whole_bursts(case.size * min(variant.part, 1.0))
    before_bytes = memory_bytes(server.process)
    with subscriptions(variant, server, [LIVE, AWAY]):
        _pile_up(variant, server, backlog, scale.give_up_s)
        held_bytes = memory_bytes(server.process)
        figures = _come_back(variant, server, backlog, scale)
    return {
        BACKLOG.name: backlog,
        **figures,
        IDLE.name: before_bytes / 1e6,
        HELD.name: held_bytes / 1e6,
    }


def _pile_up(variant: Variant, server: Server, backlog: int, give_up_s: float) -> None:
    with client(consume, variant, server, LIVE, backlog, SIZE_BYTES) as reader:
        reader.wait_ready(give_up_s)
        with client(produce, variant, server, backlog, SIZE_BYTES) as producer:
            reader.result(give_up_s)
            producer.result(give_up_s)


def _come_back(variant: Variant, server: Server, backlog: int, scale: Scale) -> Figures:
    endless = round(LIVE_MSGS_PER_S * scale.give_up_s * 2)
    steady = (variant, server, LIVE_MSGS_PER_S, endless, SIZE_BYTES)
    with client(consume_steadily, variant, server, LIVE, endless, SIZE_BYTES) as live:
        live.wait_ready(scale.give_up_s)
        with client(produce_steadily, *steady) as producer:
            time.sleep(2 * scale.seconds)
            with client(catch_up, variant, server, backlog) as away:
                began_ns, ended_ns = away.result(scale.give_up_s).value
            producer.stop()
            producer.result(scale.give_up_s)
        live.stop()
        arrivals: Arrivals = live.result(scale.give_up_s).value
    warm_ns = arrivals.instants_ns[0] + round(scale.seconds * 0.2e9)
    return {
        TOOK.name: (ended_ns - began_ns) / 1e9,
        RATE.name: backlog / (ended_ns - began_ns) * 1e9,
        **arrivals.between(warm_ns, began_ns).percentiles_ms({BEFORE.name: 99.0}),
        **arrivals.between(began_ns, ended_ns).percentiles_ms({MEANWHILE.name: 99.0}),
    }


MEASURE: Final = Measure(
    "recovery",
    "A consumer that was away",
    "It returns to a backlog of messages of 100 B, while another one receives 2,000 messages/s: "
    "the time until it has the backlog, and the p99 of the other one's delay before and meanwhile. "
    "Memory is that of the server before the backlog and with it.",
    (RATE, TOOK, BACKLOG, BEFORE, MEANWHILE, IDLE, HELD),
    lambda scale: (Case("return", scale.backlog),),
    run,
    lambda variant: variant.keeps,
    lambda scale: 1,
)

if __name__ == "__main__":
    alone(MEASURE)
