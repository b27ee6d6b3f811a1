"""An event loop in a thread of its own, and calls into it from other threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from threading import Thread, current_thread
from typing import Any, Final, TypeVar

import uvloop

from penstock.client.errors import Disconnected

T = TypeVar("T")


class LoopThread:
    """Runs until ``stop``; a daemon, so that a program that does not stop it still ends."""

    def __init__(self, name: str) -> None:
        """Start it."""
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self.publishers: list[Any] = []
        """Open publishers, whose queues must be emptied before the loop ends."""
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def stopped(self) -> bool:
        """Whether the loop has ended."""
        return self.loop.is_closed()

    @property
    def is_current(self) -> bool:
        """Whether this is called from the loop's own thread, which must not wait for itself."""
        return current_thread() is self._thread

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait for its result; an interrupted wait cancels it."""
        if self.stopped:
            coroutine.close()
            raise Disconnected("this client is closed: connect again")
        if self.is_current:
            coroutine.close()
            raise RuntimeError(
                "a call that waits was made from the client's own thread (from on_throttle or "
                "on_trace): hand the work over to another thread"
            )
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function there and wait for its result."""
        if self.is_current:
            return function(*arguments)
        return self.call(_called(function, arguments))

    def post(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function there, soon, without waiting."""
        self.loop.call_soon_threadsafe(function, *arguments)

    def stop(self) -> None:
        """End the loop and the thread."""
        if not self.stopped:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
            self.loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())


shared_threads: Final[dict[str, Callable[[], LoopThread]]] = {}
"""By host: where its clients run instead of in a thread of their own (``penstock.testing``)."""


def thread_for(name: str, hosts: Iterable[str]) -> LoopThread:
    """A thread for a client of these hosts, made unless one of them has a shared one."""
    for host in hosts:
        if host in shared_threads:
            return shared_threads[host]()
    return LoopThread(name)


async def _called(function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    return function(*arguments)
