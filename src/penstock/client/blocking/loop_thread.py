"""An event loop in a thread of its own, and calls into it from other threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from threading import Thread
from typing import Any, Final, TypeVar, TypeVarTuple

import uvloop

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class LoopThread:
    """Runs until ``stop``; a daemon, so that a program that forgets to stop it still ends."""

    def __init__(self, name: str) -> None:
        """Start."""
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait for its result; an interrupted wait cancels it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def post(self, function: Callable[[*Arguments], object], *arguments: *Arguments) -> None:
        """Call a function there, soon, without waiting."""
        self.loop.call_soon_threadsafe(function, *arguments)

    def stop(self) -> None:
        """End the loop and the thread."""
        if not self.loop.is_closed():
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
