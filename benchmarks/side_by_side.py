"""Throughput side by side with the systems that people would pick instead.

    python -m benchmarks.side_by_side [--messages N] [--rounds N] [--only NAME ...] [--write FILE]

One producer process and one consumer process for each variant of each peer (benchmarks/peers),
everything on loopback, servers on private ports and in private directories.  The rounds are
interleaved, so that all meet the same machine; medians and ratios are the result.  Processor time
is that of the clients and the server together: on a machine that others use, too, it says more
than the rate.  A peer that is not installed is named with the Debian package that brings it.

``--write`` puts the table into a document, between the lines ``MARK_BEGIN`` and ``MARK_END``.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.queues import Queue as Mailbox
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from benchmarks.peers import mosquitto, nats, ourselves, rabbitmq, redis
from benchmarks.peers.peer import Durability, Peer, Variant

PEERS: Final = (ourselves.PEER, rabbitmq.PEER, *redis.PEERS, nats.PEER, mosquitto.PEER)
SIZES: Final = (100, 1000)
MARK_BEGIN: Final = "<!-- side by side: begin -->"
MARK_END: Final = "<!-- side by side: end -->"
GIVE_UP_S: Final = 240.0
"""A run that takes longer has lost messages, or its peer has stopped working."""


class Measured(msgspec.Struct, frozen=True):
    """One run: messages a second, and processor time for each."""

    rate_msgs_per_s: float
    cpu_us: float


Key = tuple[str, int]
Results = dict[Key, list[Measured]]


# -- one run ---------------------------------------------------------------------------------------


def _produce(variant: Variant, port: int, count: int, size: int, told: Mailbox[float]) -> None:
    before = time.process_time()
    told.put(variant.produce(port, count, bytes(size)))
    told.put(time.process_time() - before)


def _consume(
    variant: Variant, port: int, count: int, size: int, ready: Event, told: Mailbox[float]
) -> None:
    before = time.process_time()
    told.put(variant.consume(port, count, size, ready.set))
    told.put(time.process_time() - before)


def measure(variant: Variant, port: int, messages: int, size: int) -> Measured:
    """From the first message sent to the last one acknowledged by its consumer."""
    count = max(1, round(messages * variant.part))
    if variant.prepare is not None:
        variant.prepare(port)
    context = get_context("spawn")
    ready = context.Event()
    sent: Mailbox[float] = context.Queue()
    received: Mailbox[float] = context.Queue()
    consumer = context.Process(target=_consume, args=(variant, port, count, size, ready, received))
    producer = context.Process(target=_produce, args=(variant, port, count, size, sent))
    before_s = _servers_cpu_s()
    try:
        consumer.start()
        if not ready.wait(GIVE_UP_S):
            raise RuntimeError(f"{variant.name}: the consumer did not get ready")
        producer.start()
        began, ended = sent.get(timeout=GIVE_UP_S), received.get(timeout=GIVE_UP_S)
        cpu_s = sent.get(timeout=GIVE_UP_S) + received.get(timeout=GIVE_UP_S)
        cpu_s += _servers_cpu_s(producer.pid, consumer.pid) - before_s
        return Measured(count / (ended - began), cpu_s / count * 1e6)
    finally:
        for process in (producer, consumer):
            if process.pid is not None:
                process.terminate()
                process.join()


def _servers_cpu_s(*clients: int | None) -> float:
    """Processor time of all our servers: what descends from this process, without its clients."""
    parents: dict[int, int] = {}
    spent: dict[int, float] = {}
    tick = os.sysconf("SC_CLK_TCK")
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                fields = (directory / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(directory.name)] = int(fields[1])
            spent[int(directory.name)] = (int(fields[11]) + int(fields[12])) / tick
    servers = [pid for pid in spent if pid not in clients and _descends(pid, os.getpid(), parents)]
    return sum(spent[pid] for pid in servers)


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False


# -- all of them -----------------------------------------------------------------------------------


def run(
    peers: Iterable[Peer], messages: int, rounds: int, sizes: tuple[int, ...] = SIZES
) -> Results:
    """Every variant once in each round; the servers end with it, also when it is told to end."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(f"ended by signal {number}"))
    results: Results = {}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="side-by-side-")))
        ports = {}
        for number, peer in enumerate(peers):
            place = directory / str(number)
            place.mkdir()
            ports[peer.name] = stack.enter_context(peer.start(place))
        for _ in range(rounds):
            for peer in peers:
                for variant in peer.variants:
                    for size in sizes:
                        measured = measure(variant, ports[peer.name], messages, size)
                        results.setdefault((variant.name, size), []).append(measured)
                        print(
                            f"{variant.name:38} {size:5} B {measured.rate_msgs_per_s:>12,.0f} "
                            f"messages/s {measured.cpu_us:8.1f} µs of processor time",
                            flush=True,
                        )
    return results


def table(peers: Iterable[Peer], results: Results, messages: int, rounds: int) -> Iterator[str]:
    """The medians as Markdown; within a class of durability the quickest peer first."""
    command = f"python -m benchmarks.side_by_side --messages {messages} --rounds {rounds}"
    yield f"`{command}`, medians of {rounds} interleaved rounds; {facts()}."
    yield ""
    sizes = " | ".join(f"{size} B, messages/s | µs of processor" for size in SIZES)
    yield f"| what | client | {sizes} |"
    yield "| --- | --- |" + " --- |" * 2 * len(SIZES)
    for durability in Durability:
        variants = [
            variant
            for peer in peers
            for variant in peer.variants
            if variant.durability is durability and (variant.name, SIZES[-1]) in results
        ]
        if variants:
            yield f"| **{durability.value}** | | " + " | ".join([""] * 2 * len(SIZES)) + " |"
        variants.sort(key=lambda variant: -rate_of(results[variant.name, SIZES[-1]]))
        for variant in variants:
            measured = [results[variant.name, size] for size in SIZES]
            figures = [f"{rate_of(each):,.0f} | {cpu_of(each):.1f}" for each in measured]
            yield f"| {variant.name} | {variant.client} | {' | '.join(figures)} |"
    yield ""
    yield from _ratios(results)


def rate_of(measured: list[Measured]) -> float:
    return median(each.rate_msgs_per_s for each in measured)


def cpu_of(measured: list[Measured]) -> float:
    return median(each.cpu_us for each in measured)


TARGETS: Final = (
    ("Penstock queue", "RabbitMQ quorum", 5.0),
    ("Penstock publish/subscribe", "RabbitMQ quorum", 10.0),
    ("Penstock publish/subscribe", "Redis Streams, AOF always", 10.0),
    ("Penstock publish/subscribe", "NATS JetStream, file", 3.0),
    ("Penstock publish/subscribe, batches", "RabbitMQ stream", 1.0),
)
"""Ours, the peer's, and how many times the peer's rate ours should be."""


def _ratios(results: Results) -> Iterator[str]:
    """What misses its target is named first."""
    lines = []
    for ours, theirs, target in TARGETS:
        for size in SIZES:
            if (ours, size) in results and (theirs, size) in results:
                mine, other = results[ours, size], results[theirs, size]
                rate, cpu = rate_of(mine) / rate_of(other), cpu_of(other) / cpu_of(mine)
                lines.append((rate / target, ours, theirs, size, rate, cpu, target))
    if lines:
        yield "| ours / theirs | size | rate | target | processor time, theirs / ours |"
        yield "| --- | --- | --- | --- | --- |"
    for reached, ours, theirs, size, rate, cpu, target in sorted(lines):
        verdict = "" if reached >= 1 else " **missed**"
        yield (f"| {ours} / {theirs} | {size} B | {rate:.1f} | ≥ {target:g}{verdict} | {cpu:.1f} |")


def facts() -> str:
    """The machine, and how busy it was."""
    load = os.getloadavg()[1]
    return (
        f"{os.cpu_count()} cores, Linux {platform.release()}, Python {platform.python_version()}, "
        f"load average {load:.1f} over the last five minutes"
    )


def write(lines: list[str], path: Path) -> None:
    """Replace what stands between the marks of a document."""
    text = path.read_text()
    if MARK_BEGIN not in text or MARK_END not in text:
        raise SystemExit(f"{path} has no lines {MARK_BEGIN!r} and {MARK_END!r} to write between")
    before, _, rest = text.partition(MARK_BEGIN)
    after = rest.partition(MARK_END)[2]
    path.write_text("\n".join([before + MARK_BEGIN, *lines, MARK_END]) + after)


def chosen(only: list[str] | None) -> list[Peer]:
    """The peers that are here, apart from those whose name was not given."""
    wanted = []
    for peer in PEERS:
        if only and not any(peer.name.lower().startswith(each.lower()) for each in only):
            continue
        if peer.is_installed:
            wanted.append(peer)
        else:
            print(f"{peer.name} is not installed: apt-get install {peer.package}")
    return wanted


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="the beginnings of the names of peers")
    parser.add_argument("--write", type=Path, help="a document with marks to write between")
    arguments = parser.parse_args()
    peers = chosen(arguments.only)
    results = run(peers, arguments.messages, arguments.rounds)
    lines = list(table(peers, results, arguments.messages, arguments.rounds))
    print("\n".join(lines))
    if arguments.write is not None:
        write(lines, arguments.write)


if __name__ == "__main__":
    main()
