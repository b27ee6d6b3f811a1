"""The broker of the network world on a disk and a network in memory.

It is ``BrokerServer`` itself: the machine, its driver, sessions, ingress checks, neighbours, status
and the order of stopping are those of ``penstock serve``.  Only the store and the listening socket
are replaced; clock and dialling follow the event loop's world.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Final, cast

from penstock.core.machine import (
    Fact,
    LogRead,
    Persist,
    Persisted,
    PersistFailed,
    PersistState,
    ReadLog,
    Received,
    Send,
    TrimLog,
)
from penstock.core.message import Message
from penstock.net.broker.config import BrokerConfig
from penstock.net.broker.durability import Durability
from penstock.net.broker.server import BrokerServer
from penstock.net.broker.sessions import SESSION_PREFIX
from penstock.net.tcp.connection import Connection
from penstock.net.tcp.receive_budget import ReceiveBudget
from penstock.sim.disk import SimDisk
from penstock.store.disk import DiskStore, StoreOptions
from penstock.testing.network import MemoryNetwork, dialling_as

ASKING: Final = f"{SESSION_PREFIX}testing"
"""The session of the test's own questions; those of clients are numbered."""


class MemoryDurability(Durability):
    """Orders to a modelled disk instead of files; nothing runs in a thread."""

    def __init__(self, server: InMemoryServer, disk: SimDisk) -> None:
        """The disk keeps what earlier servers stored on it."""
        super().__init__(server.store_answered)
        self._disk = disk
        self._attached = False

    async def open(self, directory: Path, options: StoreOptions) -> None:
        """Start on the disk; the arguments are those of a directory."""
        # The two stores keep the same interface, and the files' owner asks for nothing else.
        self._opened = cast(DiskStore, self._disk.store)
        self._attached = True
        self._disk.attach(self._told)

    async def close(self) -> None:
        """Let go of the disk, which goes on existing."""
        self.detach()
        self._reader.shutdown(wait=False)

    def detach(self) -> None:
        """Give no more orders, and hear no more answers."""
        self._attached = False
        self._disk.attach(lambda fact: None)

    def persist(self, order: Persist) -> None:
        """Append an entry to a log."""
        self._order(order)

    def persist_state(self, order: PersistState) -> None:
        """Set named values."""
        self._order(order)

    def _order(self, order: Persist | PersistState) -> None:
        if self._attached:
            self._unanswered += 1
            self._disk.order(order)

    def trim(self, order: TrimLog) -> None:
        """Give space back."""
        if self._attached:
            self._disk.trim(order)

    def read(self, order: ReadLog) -> None:
        """Read a piece of a log."""
        if self._attached:
            self._disk.read(order)

    async def save(self, values: Mapping[str, bytes | None]) -> None:
        """Set named values of the server's own, and wait until they are durable."""
        self._last_own_token -= 1
        saved = self._own_orders[self._last_own_token] = self._loop.create_future()
        self._disk.order(PersistState(self._last_own_token, dict(values)))
        await saved

    def _told(self, fact: Fact) -> None:
        facts: list[Fact] = []
        match fact:
            case PersistFailed(token):
                self._answer(token, fact, facts)
            case Persisted(token):
                self._answer(token, None, facts)
            case LogRead():
                facts.append(fact)
        if facts:
            self._on_facts(facts)


class InMemoryServer(BrokerServer):
    """One run of a broker, from ``start`` to ``stop`` or ``crash``."""

    def __init__(self, config: BrokerConfig, network: MemoryNetwork, disk: SimDisk) -> None:
        """The disk survives the server."""
        super().__init__(config)
        self._network = network
        self._disk = disk
        self._memory = MemoryDurability(self, disk)
        self._durability = self._memory
        self._answers: list[Message] = []

    async def start(self) -> None:
        """Recover, listen, dial."""
        # In a context of its own: what the server dials is dialled by its host.
        await asyncio.create_task(self._start_as_host())

    async def _start_as_host(self) -> None:
        dialling_as.set(self._address.host)
        await super().start()

    async def _bind(self) -> asyncio.Server:
        """Take an address in the network in memory; there are no datagrams."""
        budget = ReceiveBudget(self.config.limits.receive_buffers_bytes)
        listener = self._network.listen(
            self._address.host,
            lambda: Connection(self._hello, self, self.config.connection, budget),
        )
        self._listener = cast(asyncio.Server, listener)
        return self._listener

    def ask(self, question: Message) -> Any:
        """What the machine answers at once to a client's question."""
        self._driver.feed((Received(ASKING, question),))
        (answer,), self._answers = self._answers, []
        return answer

    def send(self, effect: Send) -> None:
        """Queue a message for a client or a neighbour, or answer ``ask``."""
        if effect.link == ASKING:
            self._answers.append(effect.message)
        else:
            super().send(effect)

    def control_link(self, link: str, bandwidth_bytes_per_s: int, *, cut: bool) -> str:
        """Change this end of a link; returns what is wrong with that, or nothing."""
        return self._neighbours.control(link, bandwidth_bytes_per_s, cut=cut)

    def store_answered(self, facts: list[Fact]) -> None:
        """What became of orders to the disk."""
        self._store_answered(facts)

    async def crash(self, random: Random) -> None:
        """Lose power: what the disk had not synced is lost or not, as ``random`` says."""
        self._memory.detach()
        self._disk.crash(random)
        self._watch.cancel()
        await self.abandon()
