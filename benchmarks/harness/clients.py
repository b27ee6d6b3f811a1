"""Clients as separate processes, and their communication with the measurement.

1. A client is an async function; its first argument is its *signals*, with which it reports that it
   is ready and receives the request to stop.
2. Its result comes back together with its processor time; its exception is raised where the result
   is requested, as ``ClientFailed`` with the reason in one line.
3. The process ends with the ``with`` block in any case.
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

from penstock.net.broker.kept_memory import keep_freed_memory

PROCESSES: Final = get_context("spawn")
"""The measuring process must share nothing with its clients."""

LOOK_EVERY_S: Final = 0.5
"""How soon a client that was killed from outside is noticed."""


class ClientFailed(RuntimeError):
    """A client failed; the message is the reason."""


class Signals(msgspec.Struct, frozen=True):
    """Signals between a client and the measurement."""

    ready: Event
    stop: Event


class Done(msgspec.Struct, frozen=True):
    """The result of a client, and its processor time."""

    value: Any
    cpu_s: float


Work: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]


class Client:
    """A running client."""

    def __init__(self, process: SpawnProcess, signals: Signals, told: Mailbox[Any]) -> None:
        """Made by ``client``."""
        self._process = process
        self._signals = signals
        self._told = told

    @property
    def process(self) -> int:
        """Its process number."""
        assert self._process.pid is not None, "the process was not started"
        return self._process.pid

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until it is ready; raises ``ClientFailed`` if it fails before."""
        until = time.monotonic() + timeout_s
        while not self._signals.ready.wait(LOOK_EVERY_S):
            if not self._process.is_alive():
                self.result(LOOK_EVERY_S)
            if time.monotonic() > until:
                raise ClientFailed(f"a client was not ready after {timeout_s:.0f} s")

    def stop(self) -> None:
        """Ask it to stop."""
        self._signals.stop.set()

    def result(self, timeout_s: float) -> Done:
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
    """Start a client; it is terminated at the end of the block."""
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
    # As an application does that moves large batches (docs/reference/client.md).
    keep_freed_memory()
    before_s = time.process_time()
    try:
        value = uvloop.run(work(signals, *arguments))
    except Exception as error:
        told.put(f"{type(error).__name__}: {' '.join(str(error).split())}")
    else:
        told.put(Done(value, time.process_time() - before_s))
