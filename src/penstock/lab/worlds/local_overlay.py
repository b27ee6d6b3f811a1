"""Three brokers in a row as processes on this machine, with a sample workload: ``penstock up``.

Publishers of generated stock quotes connect to the first broker, two subscribers to the last: one
receives everything, the other a selection.  Every client uses the public library.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from penstock.client.client import Client, connect
from penstock.client.errors import PenstockError
from penstock.core.randomness import random_stream
from penstock.net.process import BrokerProcess, free_port

BROKERS: Final = ("pb", "ib", "sb")
"""The publishers' broker, the intermediate broker and the subscribers' broker."""

FIRST_PORT: Final = 7400
SYMBOLS: Final = ("ACME", "EXAMPLE", "INITECH", "HOOLI", "UMBRELLA")
EVERYTHING: Final = "topic = 'quotes'"
"""Excludes the brokers' own telemetry, which is not part of the sample."""

SELECTIVE: Final = "symbol = 'ACME' AND price > 100"
PUBLISHERS: Final = 2
TICK_S: Final = 0.02
"""How often each publisher publishes a small batch."""


class Counts(msgspec.Struct):
    """Message counts of the sample clients."""

    published: int = 0
    delivered: int = 0
    selected: int = 0


class LocalOverlay:
    """The brokers of ``penstock up``."""

    def __init__(self, directory: Path, run: str = "up") -> None:
        """The brokers' data and logs go into ``directory``.

        ``run`` is the name of this overlay in the telemetry that its brokers publish.
        """
        self._directory = directory
        self._run = run
        self.ports = dict(zip(BROKERS, _ports(len(BROKERS)), strict=True))
        self._brokers: list[BrokerProcess] = []

    def url(self, broker: str) -> str:
        return f"penstock://127.0.0.1:{self.ports[broker]}"

    def __enter__(self) -> Self:
        """Start all brokers; raises ``BrokerFailed``."""
        try:
            for name in BROKERS:
                path = self._directory / f"{name}.toml"
                path.write_text(self._config(name))
                broker = BrokerProcess(path, self._directory / f"{name}.log")
                self._brokers.append(broker)
                broker.launch()
            for broker in self._brokers:
                broker.wait_ready()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop all brokers."""
        for broker in self._brokers:
            if broker.running:
                broker.terminate()

    def _config(self, name: str) -> str:
        place = BROKERS.index(name)
        lines = [
            f'name = "{name}"',
            f'listen = "127.0.0.1:{self.ports[name]}"',
            f'data_dir = "{self._directory / name}"',
            f"pubends = {PUBLISHERS if name == 'pb' else 0}",
        ]
        for near in (place - 1, place + 1):
            if 0 <= near < len(BROKERS):
                neighbour = BROKERS[near]
                lines += [
                    f"[neighbours.{neighbour}]",
                    f'address = "127.0.0.1:{self.ports[neighbour]}"',
                ]
        lines += ["[telemetry]", "publish = true", f'run = "{self._run}"']
        return "\n".join(lines) + "\n"


def _ports(count: int) -> list[int]:
    """The usual ports if they are free, otherwise any free ones."""
    ports = []
    for usual in range(FIRST_PORT, FIRST_PORT + count):
        try:
            ports.append(_claimed(usual))
        except OSError:
            ports.append(free_port())
    return ports


def _claimed(port: int) -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", port))
    return port


class SampleWorkload:
    """The clients of ``penstock up`` and their message counts."""

    def __init__(self, overlay: LocalOverlay, rate_msgs_per_s: float) -> None:
        """``rate_msgs_per_s`` is the offered rate of all publishers together."""
        self.counts = Counts()
        self._overlay = overlay
        self._rows = max(1, round(rate_msgs_per_s * TICK_S / PUBLISHERS))
        self._tasks: list[asyncio.Task[None]] = []
        self._watching: dict[str, Client] = {}

    async def __aenter__(self) -> Self:
        """Connect, subscribe and start publishing."""
        for name in BROKERS:
            self._watching[name] = await connect(self._overlay.url(name), name=f"up-{name}")
        subscriber = self._watching["sb"]
        everything = subscriber.subscribe(EVERYTHING)
        selective = subscriber.subscribe(SELECTIVE)
        await everything.open()
        await selective.open()
        self._start(self._read(everything, "delivered"))
        self._start(self._read(selective, "selected"))
        for number in range(PUBLISHERS):
            self._start(self._publish(number))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the publishers, then the other clients."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for client in self._watching.values():
            with contextlib.suppress(PenstockError):
                await client.close()

    def _start(self, work: Any) -> None:
        self._tasks.append(asyncio.create_task(work))

    async def status(self) -> dict[str, dict[str, Any]]:
        """The status of every broker; one that does not answer is left out."""
        found = {}
        for name, client in self._watching.items():
            with contextlib.suppress(PenstockError):
                found[name] = await client.status(deadline_s=2.0)
        return found

    async def _read(self, subscription: Any, counter: str) -> None:
        async for batch in subscription.batches():
            setattr(self.counts, counter, getattr(self.counts, counter) + len(batch))

    async def _publish(self, number: int) -> None:
        random = random_stream("up", f"publisher-{number}")
        client = self._watching["pb"]
        publisher = client.publisher(pubend=f"pb.{number + 1}")
        async with publisher:
            loop = asyncio.get_running_loop()
            due = loop.time()
            while True:
                rows = [_quote(random) for _ in range(self._rows)]
                await publisher.publish_batch(rows)
                self.counts.published += len(rows)
                due = max(due + TICK_S, loop.time())
                await asyncio.sleep(due - loop.time())


def _quote(random: Random) -> tuple[dict[str, Any], bytes]:
    attributes = {
        "topic": "quotes",
        "symbol": random.choice(SYMBOLS),
        "price": round(random.uniform(50, 150), 2),
    }
    return attributes, random.randbytes(100)
