"""Durable throughput and latency through one broker and through three in a row.

One producer process, one consumer process, brokers as separate processes, everything on loopback.
Every acknowledgement comes after the fsync.  In the same run: a plain relay that copies the same
bytes between two sockets, which is the machine's upper bound.

    python -m benchmarks.throughput [--seconds 4] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import statistics
import tempfile
import time
from pathlib import Path

import uvloop

import penstock
from penstock.content.rows.batch import Batch
from penstock.net.broker.kept_memory import keep_freed_memory
from penstock.net.process import BrokerProcess, free_port

BATCH_ROWS = 512
ATTRIBUTES = {"topic": "bench", "symbol": "ACME"}


def _config(directory: Path, names: list[str], ports: dict[str, int], name: str) -> Path:
    place = names.index(name)
    lines = [
        f'name = "{name}"',
        f'listen = "127.0.0.1:{ports[name]}"',
        f'data_dir = "{directory / name}"',
        f"pubends = {1 if place == 0 else 0}",
    ]
    for near in (place - 1, place + 1):
        if 0 <= near < len(names):
            address = f'address = "127.0.0.1:{ports[names[near]]}"'
            lines += [f"[neighbours.{names[near]}]", address]
    path = directory / f"{name}.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def _produce(url: str, payload_bytes: int, seconds: float, mode: str, ready: object) -> None:
    async def run() -> int:
        payload = os.urandom(payload_bytes)
        sent = 0
        async with penstock.connect(url) as client, client.publisher() as publisher:
            ready.wait()  # type: ignore[attr-defined]
            end = time.monotonic() + seconds
            if mode == "batches":
                batch = Batch.from_rows([(ATTRIBUTES, payload)] * BATCH_ROWS)
                pending: set[asyncio.Task[object]] = set()
                while time.monotonic() < end:
                    pending.add(asyncio.create_task(publisher.publish_batch(batch)))
                    sent += BATCH_ROWS
                    if len(pending) >= 32:
                        _, pending = await asyncio.wait(
                            pending, return_when=asyncio.FIRST_COMPLETED
                        )
                await asyncio.gather(*pending)
            else:
                while time.monotonic() < end:
                    for _ in range(BATCH_ROWS):
                        if publisher.try_publish(ATTRIBUTES, payload) is None:
                            await publisher.send(ATTRIBUTES, payload)
                        sent += 1
                    await asyncio.sleep(0)
            await publisher.flush(deadline_s=60)
        return sent

    keep_freed_memory()
    uvloop.run(run())


async def _consume(url: str, ready: object, idle_s: float, api: bool) -> tuple[int, float]:
    """The number of messages, and the seconds from the first to the last."""
    async with penstock.connect(url) as client, client.subscribe(window_bytes=16 << 20) as stream:
        ready.set()  # type: ignore[attr-defined]
        count, first, last = 0, 0.0, 0.0
        while True:
            try:
                batch = await stream.next_batch(deadline_s=10.0 if not count else idle_s)
            except penstock.DeadlineExceeded:
                return count, max(last - first, 1e-9)
            last = time.monotonic()
            first = first or last
            if api:
                for message in stream._rows_of(batch):
                    message.payload  # noqa: B018 - what an application would look at
                    count += 1
            else:
                count += len(batch)


def _throughput(brokers: int, payload_bytes: int, seconds: float, mode: str) -> float:
    names = [f"b{number}" for number in range(brokers)]
    ports = {name: free_port() for name in names}
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as place:
        directory = Path(place)
        running = [
            BrokerProcess(_config(directory, names, ports, name), directory / f"{name}.log")
            for name in names
        ]
        try:
            for broker in running:
                broker.launch()
            for broker in running:
                broker.wait_ready()
            ready = multiprocessing.get_context("spawn").Event()
            url = f"penstock://127.0.0.1:{ports[names[0]]}"
            producer = multiprocessing.get_context("spawn").Process(
                target=_produce, args=(url, payload_bytes, seconds, mode, ready)
            )
            producer.start()
            last = f"penstock://127.0.0.1:{ports[names[-1]]}"
            count, took = uvloop.run(_consume(last, ready, 2.0, mode == "api"))
            producer.join()
        finally:
            for broker in running:
                if broker.running:
                    broker.terminate()
    return count / took


def _latency(brokers: int, rate: float, seconds: float) -> tuple[float, float]:
    """p50 and p99, in ms, from publish to delivery, at a fixed rate of single messages."""
    names = [f"b{number}" for number in range(brokers)]
    ports = {name: free_port() for name in names}

    async def run() -> list[float]:
        delays: list[float] = []
        first, last = (f"penstock://127.0.0.1:{ports[name]}" for name in (names[0], names[-1]))
        async with (
            penstock.connect(first) as client,
            penstock.connect(last) as reader,
            client.publisher() as publisher,
            reader.subscribe() as stream,
        ):

            async def read() -> None:
                async for batch in stream.batches():
                    now = time.perf_counter_ns()
                    stamps = (int.from_bytes(each[:8], "little") for each in batch.payloads)
                    delays.extend((now - stamp) / 1e6 for stamp in stamps)

            reading = asyncio.create_task(read())
            loop = asyncio.get_running_loop()
            due, end = loop.time(), loop.time() + seconds
            while loop.time() < end:
                stamp = time.perf_counter_ns().to_bytes(8, "little")
                await publisher.send(ATTRIBUTES, stamp + bytes(92))
                due += 1 / rate
                if due > loop.time():
                    await asyncio.sleep(due - loop.time())
            await publisher.flush()
            await asyncio.sleep(0.5)
            reading.cancel()
        return delays

    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as place:
        directory = Path(place)
        running = [
            BrokerProcess(_config(directory, names, ports, name), directory / f"{name}.log")
            for name in names
        ]
        try:
            for broker in running:
                broker.launch()
            for broker in running:
                broker.wait_ready()
            delays = sorted(uvloop.run(run()))
        finally:
            for broker in running:
                if broker.running:
                    broker.terminate()
    return statistics.median(delays), delays[int(0.99 * len(delays))]


def _copy(listening: socket.socket, onward: tuple[str, int]) -> None:
    taken, _ = listening.accept()
    with taken, socket.create_connection(onward) as out:
        while data := taken.recv(1 << 19):
            out.sendall(data)


def _plain_relay(payload_bytes: int, seconds: float) -> float:
    """Messages per second of the same bytes through a process that only copies."""
    frame = bytes(Batch.from_rows([(ATTRIBUTES, bytes(payload_bytes))] * BATCH_ROWS).encode())
    with (
        socket.create_server(("127.0.0.1", 0)) as sink,
        socket.create_server(("127.0.0.1", 0)) as middle,
    ):
        context = multiprocessing.get_context("fork")
        relay = context.Process(target=_copy, args=(middle, sink.getsockname()))
        relay.start()
        source = context.Process(target=_push, args=(middle.getsockname(), frame, seconds))
        source.start()
        taken, _ = sink.accept()
        began, received = time.monotonic(), 0
        with taken:
            while data := taken.recv(1 << 19):
                received += len(data)
        took = time.monotonic() - began
        source.join()
        relay.join()
    return received / len(frame) * BATCH_ROWS / took


def _push(address: tuple[str, int], frame: bytes, seconds: float) -> None:
    end = time.monotonic() + seconds
    with socket.create_connection(address) as out:
        while time.monotonic() < end:
            out.sendall(frame)


def measure(seconds: float) -> dict[str, float]:
    """Every figure of this benchmark."""
    figures: dict[str, float] = {}
    for size in (100, 1000):
        for mode in ("api", "batches"):
            for brokers in (1, 3):
                key = f"{mode}, {brokers} broker(s), {size} B, msg/s"
                figures[key] = round(_throughput(brokers, size, seconds, mode))
        figures[f"plain relay, {size} B, msg/s"] = round(_plain_relay(size, seconds))
    for brokers in (1, 3):
        p50, p99 = _latency(brokers, 5000, seconds)
        figures[f"latency at 5,000 msg/s, {brokers} broker(s), p50 ms"] = round(p50, 2)
        figures[f"latency at 5,000 msg/s, {brokers} broker(s), p99 ms"] = round(p99, 2)
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    keep_freed_memory()
    figures = measure(arguments.seconds)
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:55} {value:>12,}")


if __name__ == "__main__":
    main()
