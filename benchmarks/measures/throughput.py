"""Throughput: ``python -m benchmarks.measures.throughput [--scale small]``.

One producer process and one consumer process.  The clock runs from the first message sent to the
last one acknowledged by its consumer; everything is confirmed to the producer meanwhile.  Processor
time is that of the clients and the server together: on a shared machine it is more reliable than
the rate.
"""

from __future__ import annotations

import time
from typing import Final

from benchmarks.harness.clients import Signals, client
from benchmarks.harness.command import alone
from benchmarks.harness.server import Server
from benchmarks.harness.subscriptions import subscriptions
from benchmarks.harness.usage import cpu_s
from benchmarks.measures.measure import Case, Column, Figures, Measure, Scale
from benchmarks.peers.peer import Variant

BURST: Final = 512
"""Messages that are sent together, as the peers' own batching clients do at full speed."""

FULL_PART_BYTES: Final = 400
"""Larger messages are fewer: most peers take two or three times as long for one of 1 kB."""

RATE: Final = Column("messages/s", better="more")
PROCESSOR: Final = Column("µs of processor", "{:.1f}", better="less")


async def produce(signals: Signals, variant: Variant, server: Server, count: int, size: int) -> int:
    """Send ``count`` messages at full speed; returns the instant of the first."""
    async with variant.sender(server, size) as sender:
        burst = sender.encode([bytes(size)] * BURST)
        began_ns = time.monotonic_ns()
        for _ in range(count // BURST):
            await sender.send(burst, BURST)
        await sender.settle()
    return began_ns


async def consume(
    signals: Signals, variant: Variant, server: Server, name: str, count: int, size: int
) -> int:
    """Receive ``count`` messages; returns the instant of the last acknowledgement."""
    async with variant.receiver(server, name, size) as receiver:
        signals.ready.set()
        left = count
        while left > 0:
            left -= len(await receiver.receive())
        await receiver.settle()
        return time.monotonic_ns()


def whole_bursts(messages: float) -> int:
    """The number rounded to whole bursts, at least one."""
    return max(1, round(messages / BURST)) * BURST


def run(variant: Variant, server: Server, case: Case, scale: Scale) -> Figures:
    """One producer, one consumer."""
    size_part = min(1.0, FULL_PART_BYTES / case.size)
    count = whole_bursts(scale.messages * variant.part * size_part)
    before_s = cpu_s(server.process)
    with (
        subscriptions(variant, server, ["one"]),
        client(consume, variant, server, "one", count, case.size) as consumer,
    ):
        consumer.wait_ready(scale.give_up_s)
        with client(produce, variant, server, count, case.size) as producer:
            ended = consumer.result(scale.give_up_s)
            began = producer.result(scale.give_up_s)
        spent_s = cpu_s(server.process) - before_s + began.cpu_s + ended.cpu_s
    return {
        RATE.name: count / (ended.value - began.value) * 1e9,
        PROCESSOR.name: spent_s / count * 1e6,
    }


MEASURE: Final = Measure(
    "throughput",
    "Throughput",
    "One producer process, one consumer process, each of its durable subscription. From the first "
    "message sent to the last one acknowledged. Processor time is that of clients and server "
    "together, for a message.",
    (RATE, PROCESSOR),
    lambda scale: (Case("100 B", 100), Case("1 kB", 1000)),
    run,
    lambda variant: not variant.loses,
    lambda scale: scale.rounds,
)

if __name__ == "__main__":
    alone(MEASURE)
