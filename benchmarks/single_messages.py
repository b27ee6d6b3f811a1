"""The cost and the delay of one message: ``python -m benchmarks.single_messages``.

1. A sync of the disk alone, the lower bound for a durable message.
2. One message at a time without other load: until the receipt, and until the delivery; for
   publish/subscribe, a group, and datagrams, of which one is sent every millisecond.
3. Processor time of producer, broker and consumer per message, one call each at full speed.
4. The same for datagrams at two steady rates, and how many of them arrived.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import uvloop

import penstock
from benchmarks.harness.clients import client
from benchmarks.harness.server import Server
from benchmarks.harness.subscriptions import subscriptions
from benchmarks.harness.usage import cpu_s
from benchmarks.measures.pace import Arrivals, consume_steadily, produce_steadily
from benchmarks.measures.throughput import consume, produce, whole_bursts
from benchmarks.peers import ourselves, ourselves_unkept
from penstock.net.broker.kept_memory import keep_freed_memory

SYNCS: Final = 1000
SYNCED_BYTES: Final = 400
"""About what a pubend's log writes for a message of 100 bytes."""

ALONE: Final = 1000
WARM_UP: Final = 200
STAMP_BYTES: Final = 8
REST: Final = bytes(92)
FULL_SPEED: Final = 1_000_000
PATIENCE_S: Final = 120.0
STEADY_S: Final = 5.0
STARTED_S: Final = 1.6
"""Time after which a process has started and connected, and sends at its rate."""

ENDING_S: Final = 0.5


def _shown(name: str, delays_s: list[float]) -> None:
    p50, p99 = np.percentile(delays_s[WARM_UP:], [50, 99]) * 1000
    print(f"{name:44} p50 {p50:6.2f} ms   p99 {p99:6.2f} ms", flush=True)


def sync_alone(directory: Path) -> None:
    """Write and sync a little data in a file with preallocated space."""
    descriptor = os.open(directory / "synced", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(descriptor, 0, SYNCS * SYNCED_BYTES)
    os.fsync(descriptor)
    delays_s = []
    for number in range(SYNCS):
        began = time.perf_counter()
        os.pwrite(descriptor, bytes(SYNCED_BYTES), number * SYNCED_BYTES)
        os.fdatasync(descriptor)
        delays_s.append(time.perf_counter() - began)
    os.close(descriptor)
    _shown("a sync alone", delays_s)


def _stamped() -> bytes:
    return time.perf_counter_ns().to_bytes(STAMP_BYTES, "little") + REST


def _age_s(payload: bytes) -> float:
    return (time.perf_counter_ns() - int.from_bytes(payload[:STAMP_BYTES], "little")) / 1e9


async def _one_by_one(name: str, publisher: Any, next_payloads: Any) -> None:
    """Publish each message after the previous one has its receipt and has arrived."""
    receipts_s, delays_s = [], []

    async def read() -> None:
        delays_s.extend([_age_s(each) for each in await next_payloads()])

    for _ in range(ALONE):
        reading = asyncio.create_task(read())
        began = time.perf_counter()
        await publisher.publish(ourselves.ATTRIBUTES, _stamped())
        receipts_s.append(time.perf_counter() - began)
        await reading
    _shown(f"{name}, receipt", receipts_s)
    _shown(f"{name}, delivery", delays_s)


async def alone(server: Server) -> None:
    """One message at a time."""
    url = ourselves.url(server)
    async with penstock.connect(url) as one, penstock.connect(url, name="other") as other:
        async with one.publisher() as publisher, other.subscribe() as stream:

            async def of_stream() -> list[bytes]:
                return (await stream.next_batch()).payloads

            before_s = cpu_s(server.process)
            await _one_by_one("publish/subscribe", publisher, of_stream)
            spent_ms = (cpu_s(server.process) - before_s) / ALONE * 1000
            print(f"{'publish/subscribe, processor of the broker':44} {spent_ms:10.2f} ms")
        async with other.group("g") as group:
            sender = one.groups.sender("g")
            await sender.open()

            async def of_group() -> list[bytes]:
                batch = await group.next_batch()
                assert batch is not None, "the group was left"
                return batch.payloads

            await _one_by_one("group", sender, of_group)
        await _datagrams(one, other)


async def _datagrams(one: penstock.Client, other: penstock.Client) -> None:
    selector = f"topic = '{ourselves.ATTRIBUTES['topic']}'"
    delays_s: list[float] = []
    async with (
        other.datagram("reader", publishes=False) as reader,
        reader.subscribe(selector) as arriving,
        one.datagram("writer") as writer,
    ):

        async def read() -> None:
            async for message in arriving:
                # One by one: a list built at the end would be lost with the task.
                delays_s.append(_age_s(message.payload))  # noqa: PERF401

        reading = asyncio.create_task(read())
        for _ in range(ALONE):
            await writer.publish(ourselves.ATTRIBUTES, _stamped())
            await asyncio.sleep(0.001)
        reading.cancel()
    _shown("datagram, delivery", delays_s)


def full_speed(server: Server) -> None:
    """Processor time of each side per message, without their start."""
    count = whole_bursts(FULL_SPEED)
    for variant in ourselves.PEER.variants:
        before_s = cpu_s(server.process)
        with (
            subscriptions(variant, server, ["one"]),
            client(consume, variant, server, "one", count, 100) as consumer,
        ):
            consumer.wait_ready(PATIENCE_S)
            with client(produce, variant, server, count, 100) as producer:
                ended, began = consumer.result(PATIENCE_S), producer.result(PATIENCE_S)
            spent_s = cpu_s(server.process) - before_s
        rate = count / (ended.value - began.value) * 1e9
        sides = {"producer": began.cpu_s, "broker": spent_s, "consumer": ended.cpu_s}
        shown = ", ".join(f"{name} {each / count * 1e6:.2f}" for name, each in sides.items())
        print(f"{variant.name:36} {rate:>11,.0f} messages/s; µs: {shown}", flush=True)


def steady_datagrams(server: Server, rate: int) -> None:
    """Processor time of each side per datagram, without starts and stops."""
    variant = next(each for each in ourselves_unkept.VARIANTS if each.loses)
    count = round(rate * STEADY_S)
    with client(consume_steadily, variant, server, "one", count, 100) as consumer:
        consumer.wait_ready(PATIENCE_S)
        with client(produce_steadily, variant, server, rate, count, 100) as producer:
            sides = {
                "producer": producer.process,
                "broker": server.process,
                "consumer": consumer.process,
            }
            time.sleep(STARTED_S)
            began_ns, before = time.monotonic_ns(), [cpu_s(each) for each in sides.values()]
            time.sleep(STEADY_S - STARTED_S - ENDING_S)
            after, ended_ns = [cpu_s(each) for each in sides.values()], time.monotonic_ns()
            producer.result(PATIENCE_S)
            time.sleep(ENDING_S)
            consumer.stop()
            arrivals: Arrivals = consumer.result(PATIENCE_S).value
    came = len(arrivals.between(began_ns, ended_ns).instants_ns)
    spent = [(high - low) / came * 1e6 for low, high in zip(before, after, strict=True)]
    shown = ", ".join(f"{name} {each:.1f}" for name, each in zip(sides, spent, strict=True))
    arrived = len(arrivals.instants_ns)
    print(f"datagrams, {rate:,}/s: {arrived:,} of {count:,} arrived; µs: {shown}", flush=True)


def main() -> None:
    """Measure, and print."""
    keep_freed_memory()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        sync_alone(Path(name))
        with ourselves.start(Path(name)) as server:
            uvloop.run(alone(server))
            full_speed(server)
            for rate in (5_000, 50_000):
                steady_datagrams(server, rate)


if __name__ == "__main__":
    main()
