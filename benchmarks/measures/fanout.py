"""Fan-out: ``python -m benchmarks.measures.fanout [--scale small]``.

One producer, and many subscribers that each get every message, over separate connections from one
process.  The figure is the number of messages delivered to all of them together.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from benchmarks.harness.clients import Signals, client
from benchmarks.harness.command import alone
from benchmarks.harness.server import Server
from benchmarks.harness.subscriptions import subscriptions
from benchmarks.harness.usage import cpu_s
from benchmarks.measures.measure import Case, Column, Figures, Measure, Scale
from benchmarks.measures.throughput import PROCESSOR, produce, whole_bursts
from benchmarks.peers.peer import Variant

SIZE_BYTES: Final = 100
DELIVERIES: Final = 4
"""Deliveries per message of the throughput measure."""

RATE: Final = Column("delivered/s", better="more")


async def consume_all(
    signals: Signals, variant: Variant, server: Server, names: list[str], count: int, size: int
) -> int:
    """Every subscriber receives ``count`` messages; returns when the last one had them."""
    open_ones = 0
    everybody = asyncio.Event()

    async def one(name: str) -> None:
        nonlocal open_ones
        async with variant.receiver(server, name, size) as receiver:
            open_ones += 1
            if open_ones == len(names):
                everybody.set()
            await everybody.wait()
            signals.ready.set()
            left = count
            while left > 0:
                left -= len(await receiver.receive())
            await receiver.settle()

    await asyncio.gather(*(one(name) for name in names))
    return time.monotonic_ns()


def run(variant: Variant, server: Server, case: Case, scale: Scale) -> Figures:
    """One producer, and the number of subscribers of the case."""
    names = [f"fan{number}" for number in range(case.size)]
    count = whole_bursts(scale.messages * variant.part * DELIVERIES / case.size)
    before_s = cpu_s(server.process)
    with (
        subscriptions(variant, server, names),
        client(consume_all, variant, server, names, count, SIZE_BYTES) as consumers,
    ):
        consumers.wait_ready(scale.give_up_s)
        with client(produce, variant, server, count, SIZE_BYTES) as producer:
            ended = consumers.result(scale.give_up_s)
            began = producer.result(scale.give_up_s)
        spent_s = cpu_s(server.process) - before_s + began.cpu_s + ended.cpu_s
    delivered = count * case.size
    return {
        RATE.name: delivered / (ended.value - began.value) * 1e9,
        PROCESSOR.name: spent_s / delivered * 1e6,
    }


MEASURE: Final = Measure(
    "fanout",
    "Fan-out",
    "One producer, and subscribers that each get every message of 100 B over a connection of their "
    "own, all from one process. Delivered messages of all subscribers together, and processor time "
    "of clients and server for each.",
    (RATE, PROCESSOR),
    lambda scale: (Case("10 subscribers", 10), Case("100 subscribers", 100)),
    run,
    lambda variant: variant.fans_out and not variant.loses,
    lambda scale: scale.rounds,
)

if __name__ == "__main__":
    alone(MEASURE)
