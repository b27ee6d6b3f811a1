"""Workers of a queue that come and go with its load.

    async def start() -> Worker: ...

    async with penstock.connect() as client:
        await Workers(client.queues, "jobs", start, WorkerBounds(least=0, most=8)).run()

``services/queues/laws/workers`` decides how many there should be; this class asks the broker for
the queue's load and calls the hook.  Only the workers that it started are counted and stopped.  A
worker that ends by itself is replaced at the next question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeAlias

from penstock.client.errors import PenstockError
from penstock.client.queues.queues import Queues
from penstock.core.clock import Instant, seconds
from penstock.services.queues.laws.workers import QueueLoad, WorkerBounds, WorkerPolicy

ASK_S: Final = 1.0
"""How often the broker is asked: a tenth of the usual time in which a backlog should be gone."""


class Worker(Protocol):
    """One worker that a hook has started."""

    def is_running(self) -> bool:
        """Whether it works; one that ended by itself does not."""

    async def stop(self) -> None:
        """Let it finish its message, and end it."""


StartWorker: TypeAlias = Callable[[], Awaitable[Worker]]
Said: TypeAlias = Callable[[str], None]


class Workers:
    """The workers of one queue."""

    def __init__(
        self,
        queues: Queues,
        queue: str,
        start: StartWorker,
        bounds: WorkerBounds | None = None,
        *,
        ask_s: float = ASK_S,
        say: Said = lambda line: None,
    ) -> None:
        """``say`` is told of every change, in a sentence; raises ``ValueError`` for bad bounds."""
        self._queues = queues
        self._queue = queue
        self._start = start
        self._policy = WorkerPolicy(bounds or WorkerBounds())
        self._ask_s = ask_s
        self._say = say
        self._running: list[Worker] = []

    def __len__(self) -> int:
        """The number of workers that run."""
        return len(self._running)

    async def run(self) -> None:
        """Follow the load until cancelled; then stop all workers."""
        try:
            while True:
                await self._adjust(await self._wanted())
                await asyncio.sleep(self._ask_s)
        finally:
            await asyncio.gather(*[each.stop() for each in self._running])
            self._running.clear()

    async def _wanted(self) -> int:
        try:
            (status,) = await self._queues.status(self._queue)
        except PenstockError as error:
            self._say(f"{self._queue}: {error}; the number of workers stays {self._policy.count}")
            return self._policy.count
        return self._policy.decide(load_of(status), _now())

    async def _adjust(self, wanted: int) -> None:
        ended = [each for each in self._running if not each.is_running()]
        if ended:
            self._running = [each for each in self._running if each not in ended]
            self._say(f"{self._queue}: workers that ended by themselves: {len(ended)}")
        before = len(self._running)
        while len(self._running) < wanted:
            self._running.append(await self._start())
        surplus = self._running[wanted:]
        # They leave the list only when they have ended, so that ``run`` never forgets one.
        await asyncio.gather(*[each.stop() for each in surplus])
        del self._running[wanted:]
        if len(self._running) != before:
            self._say(f"{self._queue}: workers: {before} before, {len(self._running)} now")


def _now() -> Instant:
    """The event loop's time, which is virtual in ``penstock.testing``."""
    return seconds(asyncio.get_running_loop().time())


def load_of(status: dict[str, Any]) -> QueueLoad:
    """The load in a queue's status; raises ``ValueError`` for an alias queue."""
    if status["kind"] != "queue":
        raise ValueError(
            f"{status['name']!r} is an alias queue, which has no consumers: name the queues that "
            "it forwards to, each at its broker"
        )
    return QueueLoad(status["messages"], status["received_messages"], status["consumer_msgs_per_s"])
