"""A broker for one test.

    async with penstock.testing.broker(queues=["orders"]) as broker:
        async with broker.connect() as client:
            await client.publish({"symbol": "ACME"}, b"42")
            await broker.advance(60)

1. The broker is the one that ``penstock serve`` runs, and the client is ``penstock.Client``.  They
   speak over a connection in memory, and the disk is the simulator's.
2. Time is virtual unless ``virtual_time=False``: whenever the program waits, time jumps to whatever
   happens next.  The same test with the same seed sees the same ticks in every run.
3. The disk outlives the broker's crashes.  What a receipt was given for is on it.
4. A broker whose machine raises is a defect of Penstock: it stops, and the block ends with
   ``MachineFailed``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self

from penstock.client.client import Client, ClientOptions, connect
from penstock.client.errors import InvalidAttribute, PenstockError
from penstock.core.clock import in_seconds
from penstock.core.machine_failure import MachineFailed
from penstock.core.randomness import random_stream
from penstock.net.broker.config import BrokerConfig, parse_config
from penstock.net.broker.status import BrokerStatus
from penstock.services.queues.messages import ListQueues
from penstock.sim.disk import DiskModel, SimDisk
from penstock.testing.errors import BrokerMisused
from penstock.testing.inspection import (
    PublishedMessage,
    QueueState,
    published_messages,
    queue_state,
)
from penstock.testing.network import PORT
from penstock.testing.server import InMemoryServer
from penstock.testing.virtual_time import LIMIT_S
from penstock.testing.world import World, join_world

logger = logging.getLogger(__name__)

CLOSE_WITHIN_S: Final = 5.0
"""How long a client that the test left open may take to finish when the broker is closed."""


def broker(
    *,
    name: str = "broker",
    queues: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
    pubends: int | Sequence[str] = 1,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    virtual_time: bool = True,
    limit_s: float = LIMIT_S,
) -> Broker:
    """A broker in memory; use it as ``async with penstock.testing.broker() as broker``.

    ``queues`` are names, or names with their settings.  ``pubends`` are the names of its streams,
    or how many it has.  ``settings`` are further keys of BROKER.toml
    (docs/reference/broker-config.md), such as ``{"limits": {"max_payload_bytes": 1000}}``.
    ``seed`` decides what a crash leaves of what was not synced yet.  A test that takes more than
    ``limit_s`` of virtual time fails with ``TimeLimitReached``; ``advance`` does not count.  Where
    several brokers share an event loop the limit of the first one holds.
    """
    config = broker_config(name, queues, pubends, settings or {})
    return Broker(config, seed=seed, virtual_time=virtual_time, limit_s=limit_s)


def broker_config(
    name: str,
    queues: Sequence[str] | Mapping[str, Mapping[str, Any]],
    pubends: int | Sequence[str],
    settings: Mapping[str, Any],
) -> BrokerConfig:
    """The configuration of a broker in memory; raises ``ConfigError``, as a file would."""
    if isinstance(queues, str):
        raise TypeError(f"queues is a sequence of names, not one: write queues=[{queues!r}]")
    tables = queues if isinstance(queues, Mapping) else {each: {} for each in queues}
    raw = {
        "pubends": pubends if isinstance(pubends, int) else tuple(pubends),
        # The telemetry has no reader, and measuring would be most of the work of a virtual hour.
        "telemetry": {"interval_s": 0.0},
        "queues": {each: dict(table) for each, table in tables.items()},
        **settings,
        "name": name,
        "listen": f"{name}.test:{PORT}",
        "data_dir": "memory",
    }
    return parse_config(raw)


class Broker:
    """One broker in memory, with the faults that a test can cause."""

    def __init__(
        self, config: BrokerConfig, *, seed: int, virtual_time: bool, limit_s: float
    ) -> None:
        """Made by ``broker``; it runs inside its ``async with`` block."""
        self.name = config.name
        self.host = config.listen_address.host
        self.url = f"penstock://{self.host}:{PORT}"
        """Where applications that connect by themselves reach it, on the same event loop."""
        self._config = config
        self._seed = seed
        self._virtual_time = virtual_time
        self._limit_s = limit_s
        self._world_or_none: World | None = None
        self._disk: SimDisk
        self._server: InMemoryServer | None = None
        self._clients: list[Client] = []
        self._last_client = 0
        self._failure: MachineFailed | None = None
        self._ending: asyncio.Task[None] | None = None

    # -- life -------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Start."""
        world = join_world(virtual_time=self._virtual_time, limit_s=self._limit_s)
        try:
            world.network.add_host(self.host)
            self._world_or_none = world
            self._disk = SimDisk(DiskModel(), world)
            await self.start()
        except BaseException:
            self._leave(world)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the clients that are left, and stop; raises if the machine failed."""
        world = self._world
        try:
            world.network.resume(self.host)
            await self._close_clients()
            await self._stop("the test is over")
        finally:
            self._leave(world)
        if self._failure is not None and (error is None or isinstance(error, Exception)):
            # Whatever else went wrong in the test, this came first.
            raise self._failure from error

    def _leave(self, world: World) -> None:
        if self._world_or_none is not None:
            self._world_or_none = None
            world.network.remove_host(self.host)
        world.leave()

    async def _close_clients(self) -> None:
        for client in self._clients:
            try:
                await client.close(deadline_s=CLOSE_WITHIN_S)
            except (PenstockError, InvalidAttribute) as problem:
                logger.error("client %r: %s", client.name, problem)

    @property
    def _world(self) -> World:
        if self._world_or_none is None:
            raise BrokerMisused(
                "this broker does not run: write `async with penstock.testing.broker() as broker`, "
                "and use it inside the block"
            )
        return self._world_or_none

    @property
    def _running(self) -> InMemoryServer:
        self._world  # noqa: B018 - says what is wrong if there is none
        if self._failure is not None:
            raise self._failure
        if self._server is None:
            raise BrokerMisused(f"broker {self.name!r} is down; start it with `await start()`")
        return self._server

    # -- clients and time -------------------------------------------------------------------

    def connect(
        self,
        name: str | None = None,
        *,
        deadline_s: float | None = None,
        options: ClientOptions | None = None,
    ) -> Client:
        """A client of this broker, as ``penstock.connect`` makes it.

        Clients without a name are called client-1, client-2 and so on.  One that the test leaves
        open is closed with the broker.
        """
        self._world  # noqa: B018 - says what is wrong if there is none
        self._last_client += 1
        client = connect(
            self.url,
            name=name or f"client-{self._last_client}",
            deadline_s=deadline_s,
            options=options,
        )
        self._clients.append(client)
        return client

    @property
    def now(self) -> datetime:
        """The broker's time of day, in UTC."""
        return datetime.fromtimestamp(in_seconds(self._world.now_ns()), UTC)

    async def advance(self, duration_s: float) -> None:
        """Let this many virtual seconds pass, and run everything that is due in them."""
        await self._world.virtual.advance(duration_s)

    # -- what there is ----------------------------------------------------------------------

    def published(self, pubend: str | None = None) -> list[PublishedMessage]:
        """The messages in its streams, or in one of them, in the order of their ticks.

        Only what is durable, and not what was trimmed since (a day later, unless configured
        otherwise).  It can be asked while the broker is down.
        """
        self._world  # noqa: B018 - says what is wrong if there is none
        return published_messages(self._disk.store, pubend)

    def queue(self, name: str) -> QueueState:
        """What a queue holds: ``waiting``, ``in_flight``, ``consumers``."""
        return queue_state(self._running.ask(ListQueues(name)), name)

    def status(self) -> BrokerStatus:
        """The broker's account of itself, with its sessions and subscriptions.

        The same document as ``client.status()`` gives (docs/reference/status.md).
        """
        return self._running.status()

    # -- faults -----------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the broker with what its disk holds; needed only after ``crash`` or ``stop``."""
        world = self._world
        if self._server is not None:
            raise BrokerMisused(f"broker {self.name!r} runs already")
        server = InMemoryServer(self._config, world.network, self._disk)
        server.failure.add_done_callback(self._machine_failed)
        await server.start()
        self._server = server
        if server.failure.done():
            self._machine_failed(server.failure)

    async def stop(self) -> None:
        """Stop the broker in good order, as SIGTERM does."""
        self._running  # noqa: B018 - says what is wrong if it is down
        await self._stop("the broker is stopping")

    async def crash(self) -> None:
        """Kill the broker: memory and connections are gone, and what the disk had not synced."""
        server = self._running
        self._server = None
        await server.crash(random_stream(self._seed, self.name, "crash", str(self._world.now)))

    async def restart(self, *, after_s: float = 0.0) -> None:
        """Crash, stay down for so long, and start again from what was durable."""
        await self.crash()
        await asyncio.sleep(after_s)
        await self.start()

    def drop_connections(self) -> int:
        """Break every connection of this broker, without a word; how many there were."""
        self._running  # noqa: B018 - says what is wrong if it is down
        return self._world.network.drop(self.host, "the test dropped the connection")

    def pause(self) -> None:
        """Let the broker hang: connections stay open, and nothing comes or goes over them."""
        self._running  # noqa: B018 - says what is wrong if it is down
        self._world.network.stall(self.host)

    def resume(self) -> None:
        """End ``pause``; what was sent meanwhile arrives, over connections that still exist."""
        self._world.network.resume(self.host)

    def fill_disk(self, *, full: bool = True) -> None:
        """Make the disk full, so that the broker refuses to store; ``full=False`` gives room."""
        self._world  # noqa: B018 - says what is wrong if there is none
        self._disk.store.full = full

    def fail_disk(self) -> None:
        """Let the next sync fail: what it stored is unknown until the broker restarts."""
        self._world  # noqa: B018 - says what is wrong if there is none
        self._disk.store.failing_sync = True

    def control_link(self, link: str, *, cut: bool, bandwidth_bytes_per_s: int) -> None:
        """Change this end of a link to a neighbour."""
        problem = self._running.control_link(link, bandwidth_bytes_per_s, cut=cut)
        if problem:
            raise BrokerMisused(problem)

    async def _stop(self, reason: str) -> None:
        if self._ending is not None:
            await self._ending
        server, self._server = self._server, None
        if server is not None:
            await server.stop(reason)

    def _machine_failed(self, failed: asyncio.Future[MachineFailed]) -> None:
        if not failed.cancelled() and self._server is not None:
            self._failure = failed.result()
            server, self._server = self._server, None
            random = random_stream(self._seed, self.name, "failure")
            self._ending = asyncio.get_running_loop().create_task(server.crash(random))
