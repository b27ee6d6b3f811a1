"""Clients in processes of their own, and how the measurement talks with them.

1. A client is an async function; its first argument are its *signals*, with which it says that it
   is ready and is told to stop.
2. What it returns comes back together with the processor time that it used; what it raises is
   raised where its result is asked for, as ``ClientFailed`` with the reason in one line.
3. The process ends with the ``with`` block, whatever happened.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue as Mailbox
from multiprocessing.synchronize import Event
from typing import Any, Final, TypeAlias

import msgspec
import uvloop

PROCESSES: Final = get_context("spawn")
"""Nothing of the measuring process may be shared with its clients."""

LOOK_EVERY_S: Final = 0.5
"""How soon a client that was killed from outside is noticed."""


class ClientFailed(RuntimeError):
    """A client did not do its work; the message is the reason."""


class Signals(msgspec.Struct, frozen=True):
    """What passes between a client and the measurement while it works."""

    ready: Event
    stop: Event


class Done(msgspec.Struct, frozen=True):
    """What a client returned, and the processor time of its work."""

    value: Any
    cpu_s: float


Work: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]


class Client:
    """A client that was started."""

    def __init__(self, process: SpawnProcess, signals: Signals, told: Mailbox[Any]) -> None:
        """Made by ``client``."""
        self._process = process
        self._signals = signals
        self._told = told

    @property
    def process(self) -> int:
        """The number of its process."""
        assert self._process.pid is not None, "it was started"
        return self._process.pid

    def wait_ready(self, timeout_s: float) -> None:
        """Until it says that it is ready; raises ``ClientFailed`` if it fails before."""
        until = time.monotonic() + timeout_s
        while not self._signals.ready.wait(LOOK_EVERY_S):
            if not self._process.is_alive():
                self.result(LOOK_EVERY_S)
            if time.monotonic() > until:
                raise ClientFailed(f"a client was not ready after {timeout_s:.0f} s")

    def stop(self) -> None:
        """Tell it to come to an end."""
        self._signals.stop.set()

    def result(self, timeout_s: float) -> Done:
        """What it returned."""
        until = time.monotonic() + timeout_s
        while True:
            try:
                told = self._told.get(timeout=LOOK_EVERY_S)
            except queue.Empty:
                if not self._process.is_alive() and self._told.empty():
                    status = self._process.exitcode
                    raise ClientFailed(f"a client ended with status {status}") from None
                if time.monotonic() > until:
                    raise ClientFailed(f"not done after {timeout_s:.0f} s") from None
                continue
            if isinstance(told, Done):
                return told
            raise ClientFailed(told)


@contextmanager
def client(work: Work, *arguments: Any) -> Iterator[Client]:
    """Start a client; it is gone at the end of the block."""
    signals = Signals(PROCESSES.Event(), PROCESSES.Event())
    told: Mailbox[Any] = PROCESSES.Queue()
    process = PROCESSES.Process(target=_run, args=(work, signals, arguments, told))
    process.start()
    try:
        yield Client(process, signals, told)
    finally:
        process.terminate()
        process.join()


def _run(work: Work, signals: Signals, arguments: tuple[Any, ...], told: Mailbox[Any]) -> None:
    before_s = time.process_time()
    try:
        value = uvloop.run(work(signals, *arguments))
    except Exception as error:
        told.put(f"{type(error).__name__}: {' '.join(str(error).split())}")
    else:
        told.put(Done(value, time.process_time() - before_s))
