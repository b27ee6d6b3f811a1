"""Workers of a queue that come and go with its load.

    async def start() -> Worker: ...

    async with penstock.connect() as client:
        await Workers(client.queues, "jobs", start, WorkerBounds(least=0, most=8)).run()

With ``alias`` the workers of one destination follow what waits behind an alias queue:

    Workers(client.queues, "work@east", start, alias="orders")

``services/queues/laws/workers`` decides how many there should be; this class asks the broker for
the load (``worker_load``) and calls the hook.  Only the workers that it started are counted and
stopped.  A worker that ends by itself is replaced at the next question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias

from penstock.client.errors import PenstockError
from penstock.client.queues.queues import Queues
from penstock.client.queues.worker_load import alias_load_of, load_of
from penstock.core.clock import Instant, seconds
from penstock.services.queues.laws.workers import QueueLoad, WorkerBounds, WorkerPolicy

ASK_S: Final = 1.0
"""How often the broker is asked: a tenth of the usual time in which a backlog should be gone."""

RECENT_QUESTIONS: Final = 5
"""A destination that has not answered the last questions has told nothing about its load."""


class Worker(Protocol):
    """One worker that a hook has started."""

    def is_running(self) -> bool:
        """Whether it works; one that ended by itself does not."""

    async def stop(self) -> None:
        """Let it finish its message, and end it."""


StartWorker: TypeAlias = Callable[[], Awaitable[Worker]]
Said: TypeAlias = Callable[[str], None]


class Workers:
    """The workers of one queue, which may be a destination of an alias queue."""

    def __init__(
        self,
        queues: Queues,
        queue: str,
        start: StartWorker,
        bounds: WorkerBounds | None = None,
        *,
        alias: str = "",
        ask_s: float = ASK_S,
        say: Said = lambda line: None,
    ) -> None:
        """``say`` is told of every change, in a sentence; raises ``ValueError`` for bad bounds.

        With ``alias``, ``queues`` are those of the alias queue's broker, and ``queue`` is one of
        its destinations: ``queue@broker``, or the queue alone where that is clear.
        """
        self._queues = queues
        self._queue = queue
        self._alias = alias
        self._start = start
        self._policy = WorkerPolicy(bounds or WorkerBounds())
        self._ask_s = ask_s
        self._say = say
        self._running: list[Worker] = []
        self._known = False

    def __len__(self) -> int:
        """The number of workers that run."""
        return len(self._running)

    async def run(self) -> None:
        """Follow the load until cancelled; then stop all workers.

        Raises ``ValueError`` if the queue is an alias queue, or ``alias`` does not lead to it.
        """
        try:
            while True:
                await self._adjust(await self._wanted())
                await asyncio.sleep(self._ask_s)
        finally:
            await asyncio.gather(*[each.stop() for each in self._running])
            self._running.clear()

    async def _wanted(self) -> int:
        try:
            load = await self._load()
        except PenstockError as error:
            self._say(f"{self._queue}: {error}; the number of workers stays {self._policy.count}")
            return self._policy.count
        if load is None:
            self._unknown()
            return self._policy.count
        self._known = True
        return self._policy.decide(load, _now())

    async def _load(self) -> QueueLoad | None:
        (status,) = await self._queues.status(self._alias or self._queue)
        if not self._alias:
            return load_of(status)
        return alias_load_of(status, self._queue, RECENT_QUESTIONS * self._ask_s)

    def _unknown(self) -> None:
        if self._known:
            self._say(
                f"{self._queue}: {self._alias!r} has no news of it; the number of workers stays "
                f"{self._policy.count}"
            )
        self._known = False

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
