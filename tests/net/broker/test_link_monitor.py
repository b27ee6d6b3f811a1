from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from penstock.content.rows.columns import Buffer
from penstock.core.machine import Fact, Priority, QueuesMeasured
from penstock.core.randomness import random_stream
from penstock.core.trace import TraceRecord
from penstock.mechanisms.back_off import BackOff
from penstock.net.broker import link_monitor
from penstock.net.broker.config import NeighbourConfig
from penstock.net.broker.link import Link
from penstock.net.broker.link_monitor import LinkMonitor
from penstock.net.broker.telemetry import Telemetry
from penstock.net.tcp.outbox import Outbox
from penstock.net.wall_clock import WallClock
from penstock.overlay.link_queue import LinkQueue
from penstock.services.guaranteed.messages import Taken

PATIENCE_S = 60


class Listener:
    """Hears facts and records, and can be waited for."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.records: list[TraceRecord] = []
        self._changed = asyncio.Event()

    def feed(self, facts: Iterable[Fact]) -> None:
        self.facts += facts
        self._changed.set()

    def sink(self, records: list[TraceRecord]) -> None:
        self.records += records
        self._changed.set()

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


def make_link(name: str, clock: WallClock) -> Link:
    queue: LinkQueue[list[Buffer]] = LinkQueue()
    back_off = BackOff(random_stream(1, "dialling"))
    owner: Any = None
    return Link(name, NeighbourConfig(), Outbox(clock, queue), back_off, clock, owner)


async def test_the_machine_hears_what_waits_and_once_that_nothing_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_monitor, "MEASURE_QUEUES_EVERY_S", 0.001)
    clock, listener = WallClock(), Listener()
    links = {name: make_link(name, clock) for name in ("idle", "busy")}
    monitor = LinkMonitor(links, clock, Telemetry("b"), 0, listener.feed)
    outbox = links["busy"].outbox
    outbox.put(Taken("s", 1), Priority.CONTROL)

    monitor.start()
    assert listener.facts == [QueuesMeasured({"busy": outbox.queued_bytes})]
    outbox.detach()

    await listener.until(lambda: listener.facts[-1] == QueuesMeasured({}))
    assert listener.facts.count(QueuesMeasured({})) == 1
    monitor.stop()


async def test_the_telemetry_hears_the_counts_at_its_interval() -> None:
    clock, listener = WallClock(), Listener()
    telemetry = Telemetry("b", listener.sink)
    monitor = LinkMonitor({"c": make_link("c", clock)}, clock, telemetry, 0.001, listener.feed)

    monitor.start()

    await listener.until(lambda: len(listener.records) >= 10)
    assert [record.metric for record in listener.records[:5]] == [
        "queue_bytes",
        "most_queued_bytes",
        "sent_bytes",
        "sent_messages",
        "dropped_messages",
    ]
    monitor.stop()
