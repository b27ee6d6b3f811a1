"""A broker in memory for tests without an event loop.

    with penstock.testing.blocking_broker(queues=["orders"]) as broker:
        client = broker.connect()
        client.publish({"symbol": "ACME"}, b"42")

1. The broker and all its clients share one event loop in a thread of their own; the clients are
   those of ``penstock.blocking``, made by ``connect`` or by ``penstock.blocking.connect(url)``.
2. Virtual time passes only while a call of the test waits, such as ``client.publish`` or
   ``broker.advance``, so that a slow line of the test takes no virtual time.  Before a call
   returns, everything that happens at its instant has happened.
3. That holds for a test with one thread.  A test in which several threads use the broker should
   pass ``virtual_time=False``: while one of them waits, time would jump for the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from penstock.client.blocking import client as blocking
from penstock.client.blocking.loop_thread import LoopThread, shared_threads
from penstock.client.client import ClientOptions
from penstock.client.errors import Disconnected
from penstock.net.broker.status import BrokerStatus
from penstock.testing.broker import Broker, broker
from penstock.testing.errors import BrokerMisused, TimeLimitReached
from penstock.testing.inspection import PublishedMessage, QueueState
from penstock.testing.virtual_time import LIMIT_S, VirtualTime
from penstock.testing.world import World, join_world

T = TypeVar("T")


def blocking_broker(
    *,
    name: str = "broker",
    queues: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
    pubends: int | Sequence[str] = 1,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    virtual_time: bool = True,
    limit_s: float = LIMIT_S,
) -> BlockingBroker:
    """A broker in memory for a ``with`` block; the arguments are those of ``broker``."""
    made = broker(
        name=name,
        queues=queues,
        pubends=pubends,
        settings=settings,
        seed=seed,
        virtual_time=virtual_time,
        limit_s=limit_s,
    )
    return BlockingBroker(made, virtual_time=virtual_time, limit_s=limit_s)


class VirtualLoopThread(LoopThread):
    """The loop of a test's broker and clients, in which time passes only during calls."""

    def __init__(self) -> None:
        """Start; time is real until ``join``."""
        self.loop = asyncio.SelectorEventLoop()
        self.publishers = []
        self._virtual: VirtualTime | None = None
        self._calls: set[asyncio.Task[Any]] = set()
        self._limit_reached: TimeLimitReached | None = None
        self._thread = Thread(target=self._run, name="penstock.testing", daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait for its result, while time passes."""
        return super().call(self._in_passing_time(coroutine))

    async def _in_passing_time(self, coroutine: Coroutine[Any, Any, T]) -> T:
        virtual = self._virtual
        if virtual is None:
            return await coroutine
        call = asyncio.current_task()
        assert call is not None
        self._calls.add(call)
        try:
            # What was posted before comes first, and what follows at the same instant comes too.
            await virtual.settle()
            with virtual.passing():
                result = await coroutine
            await virtual.settle()
            return result
        except asyncio.CancelledError:
            if self._limit_reached is not None:
                raise self._limit_reached from None
            raise
        finally:
            self._calls.discard(call)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        stopped = False
        while not stopped:
            try:
                self.loop.run_forever()
                stopped = True
            except TimeLimitReached as error:
                self._limit_reached = error
                for call in self._calls:
                    call.cancel()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())

    async def join(self, *, virtual_time: bool, limit_s: float) -> World:
        """Make the world, for as long as the thread runs."""
        world = join_world(virtual_time=virtual_time, limit_s=limit_s)
        if virtual_time:
            self._virtual = world.virtual
            self._virtual.hold()
        return world

    async def leave(self, world: World) -> None:
        """Let the loop have its own time again."""
        self._virtual = None
        world.leave()


class ClientThread(LoopThread):
    """The same thread as one client sees it: stopping it leaves the others their loop."""

    def __init__(self, thread: VirtualLoopThread) -> None:
        """Belongs to one client."""
        self.loop = thread.loop
        self.publishers = []
        self._shared = thread
        self._thread = thread._thread
        self._closed = False

    @property
    def stopped(self) -> bool:
        """Whether this client is closed."""
        return self._closed or self._shared.stopped

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait for its result."""
        if self._closed:
            coroutine.close()
            raise Disconnected("this client is closed: connect again")
        return self._shared.call(coroutine)

    def stop(self) -> None:
        """The client is closed; the loop goes on."""
        self._closed = True


class BlockingBroker:
    """``Broker`` for tests without an event loop: the same names, without ``await``."""

    def __init__(self, broker: Broker, *, virtual_time: bool, limit_s: float) -> None:
        """Made by ``blocking_broker``."""
        self.name = broker.name
        self.url = broker.url
        """Where applications that connect by themselves with ``penstock.blocking`` reach it."""
        self._broker = broker
        self._virtual_time = virtual_time
        self._limit_s = limit_s
        self._thread: VirtualLoopThread
        self._world: World

    def __enter__(self) -> Self:
        """Start."""
        host = self._broker.host
        if host in shared_threads:
            raise BrokerMisused(
                f"a blocking broker called {self.name!r} runs already; pass another name="
            )
        self._thread = VirtualLoopThread()
        shared_threads[host] = lambda: ClientThread(self._thread)
        try:
            self._world = self._thread.call(
                self._thread.join(virtual_time=self._virtual_time, limit_s=self._limit_s)
            )
            self._thread.call(self._broker.__aenter__())
        except BaseException:
            del shared_threads[host]
            self._thread.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the clients that are left, and stop."""
        try:
            self._thread.call(self._broker.__aexit__(kind, error, traceback))
        finally:
            del shared_threads[self._broker.host]
            self._thread.call(self._thread.leave(self._world))
            self._thread.stop()

    # -- clients and time -------------------------------------------------------------------

    def connect(
        self,
        name: str | None = None,
        *,
        deadline_s: float | None = None,
        options: ClientOptions | None = None,
    ) -> blocking.Client:
        """A connected client, as ``penstock.blocking.connect`` makes it."""

        async def connected() -> Any:
            return await self._broker.connect(name, deadline_s=deadline_s, options=options)

        return blocking.Client(ClientThread(self._thread), self._thread.call(connected()))

    @property
    def now(self) -> datetime:
        """The broker's time of day, in UTC."""
        return self._broker.now

    def advance(self, duration_s: float) -> None:
        """Let this many virtual seconds pass, and run everything that is due in them."""
        self._thread.call(self._broker.advance(duration_s))

    # -- what there is ----------------------------------------------------------------------

    def published(self, pubend: str | None = None) -> list[PublishedMessage]:
        """The messages in its streams, or in one of them, in the order of their ticks."""
        return self._thread.call(self._there(lambda: self._broker.published(pubend)))

    def queue(self, name: str) -> QueueState:
        """What a queue holds: ``waiting``, ``in_flight``, ``consumers``."""
        return self._thread.call(self._there(lambda: self._broker.queue(name)))

    def status(self) -> BrokerStatus:
        """The broker's account of itself, with its sessions and subscriptions."""
        return self._thread.call(self._there(self._broker.status))

    # -- faults -----------------------------------------------------------------------------

    def start(self) -> None:
        """Start the broker with what its disk holds; needed only after ``crash`` or ``stop``."""
        self._thread.call(self._broker.start())

    def stop(self) -> None:
        """Stop the broker in good order, as SIGTERM does."""
        self._thread.call(self._broker.stop())

    def crash(self) -> None:
        """Kill the broker: memory and connections are gone, and what the disk had not synced."""
        self._thread.call(self._broker.crash())

    def restart(self, *, after_s: float = 0.0) -> None:
        """Crash, stay down for so long, and start again from what was durable."""
        self._thread.call(self._broker.restart(after_s=after_s))

    def drop_connections(self) -> int:
        """Break every connection of this broker, without a word; how many there were."""
        return self._thread.call(self._there(self._broker.drop_connections))

    def pause(self) -> None:
        """Let the broker hang: connections stay open, and nothing comes or goes over them."""
        self._thread.call(self._there(self._broker.pause))

    def resume(self) -> None:
        """End ``pause``; what was sent meanwhile arrives, over connections that still exist."""
        self._thread.call(self._there(self._broker.resume))

    def fill_disk(self, *, full: bool = True) -> None:
        """Make the disk full, so that the broker refuses to store; ``full=False`` gives room."""
        self._thread.call(self._there(lambda: self._broker.fill_disk(full=full)))

    def fail_disk(self) -> None:
        """Let the next sync fail: what it stored is unknown until the broker restarts."""
        self._thread.call(self._there(self._broker.fail_disk))

    @staticmethod
    async def _there(function: Callable[[], T]) -> T:
        return function()
