"""Reading from a broker without an event loop.

Batches cross from the event loop's thread; messages are taken from them in the application's
thread, which costs no more for each message than in the asyncio client.  One thread at a time may
read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Generic

from penstock.client import reading as asynchronous
from penstock.client.blocking.loop_thread import LoopThread
from penstock.client.blocking.proxy import BlockingContext, stands_for
from penstock.client.reading import ReadBatch, ReadMessage


@stands_for(asynchronous.Reading)
class Reading(BlockingContext, Generic[ReadBatch, ReadMessage]):
    """Base of ``Subscription``, ``Receiver`` and ``Group``."""

    _mirrors = asynchronous.Reading

    def __init__(self, thread: LoopThread, asyncio_object: Any) -> None:
        """Messages acknowledge and settle through the event loop's thread."""
        super().__init__(thread, asyncio_object)
        self._rows: Iterator[ReadMessage] = iter(())
        asyncio_object._called_from(thread)

    def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the broker has accepted it."""
        self._thread.call(self._asyncio.open(deadline_s=deadline_s))

    def close(self, *, deadline_s: float | None = None) -> None:
        """Receive no more; waits until the broker has confirmed it."""
        if not self._thread.stopped:
            self._thread.call(self._asyncio.close(deadline_s=deadline_s))

    def __iter__(self) -> Iterator[ReadMessage]:
        """The messages, until it is closed."""
        return self.messages()

    def messages(self, *, deadline_s: float = math.inf) -> Iterator[ReadMessage]:
        """The messages, until it is closed; raises ``DeadlineExceeded`` if none comes in time."""
        opened_here = self._open_if_needed()
        try:
            while True:
                yield from self._rows
                batch = self._thread.call(self._asyncio._wait_batch(deadline_s))
                if batch is None:
                    return
                self._rows = self._asyncio._rows_of(batch)
        finally:
            self._close_after_loop(opened_here)

    def batches(self, *, deadline_s: float = math.inf) -> Iterator[ReadBatch]:
        """The messages as they arrived together, until it is closed."""
        opened_here = self._open_if_needed()
        try:
            while batches := self._thread.call(self._asyncio._wait_batches(deadline_s)):
                yield from batches
        finally:
            self._close_after_loop(opened_here)

    def next(self, *, deadline_s: float = math.inf) -> ReadMessage:
        """The next message; raises ``DeadlineExceeded`` if none comes in time."""
        while True:
            for message in self._rows:
                return message
            self._open_if_needed()
            batch = self._thread.call(self._asyncio._wait_batch(deadline_s))
            if batch is None:
                raise self._asyncio._closed_error()
            self._rows = self._asyncio._rows_of(batch)

    def next_batch(self, *, deadline_s: float = math.inf) -> ReadBatch | None:
        """The next messages that arrived together; None once it is closed."""
        batch: ReadBatch | None = self._thread.call(self._asyncio.next_batch(deadline_s=deadline_s))
        return batch

    def _open_if_needed(self) -> bool:
        return self._thread.call(self._asyncio._open_if_needed()) is True

    def _close_after_loop(self, opened_here: bool) -> None:
        if opened_here and self._asyncio._closes_after_loop and not self._thread.is_current:
            self.close()
