"""Reading from a broker, as the application sees it, for all services that deliver batches.

1. ``open`` waits until the broker has accepted the reader, ``close`` until it has confirmed its
   end.  An ``async with`` block does both.  ``close`` may be called again, and after the connection
   was lost; then there is nothing to confirm.
2. A loop opens what was not opened.  A loop that was left may be entered again, and continues with
   the message after the one that it had.
3. Reading what was closed ends at once: loops end, and ``next`` raises ``Disconnected``.

The blocking client reads through ``_wait_batches`` and ``_rows_of``: batches cross from the event
loop's thread to the application's, and messages are taken from them there.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from typing import ClassVar, Generic, TypeVar

from penstock.client.calling import DIRECT, Caller
from penstock.client.closable import Closable
from penstock.client.errors import Disconnected
from penstock.client.life_cycle import ReaderPhase
from penstock.client.pure_reader import PureReader
from penstock.client.reader_driver import ReaderDriver
from penstock.client.session import Session
from penstock.client.waiting import deadline

ReadBatch = TypeVar("ReadBatch")
ReadMessage = TypeVar("ReadMessage")


class Reading(Closable, Generic[ReadBatch, ReadMessage]):
    """Base of ``Subscription``, ``Receiver`` and ``Group``."""

    _closes_after_loop: ClassVar[bool] = False
    """Whether a loop that opened the reader also closes it."""
    _unopened: ClassVar[str] = "it is not open"
    """What a deadline says that passes before the broker has accepted the reader."""

    def __init__(
        self, session: Session, key: str, reader: PureReader, *, what: str, deadline_s: float
    ) -> None:
        """``what`` names it in errors; ``deadline_s`` holds for opening and closing."""
        self._session = session
        self._reading = reader
        self._what = what
        self._deadline_s = deadline_s
        self._driver = ReaderDriver(session, key, reader, self.close)
        self._opened = False
        self._closed = False
        self._rows: Iterator[ReadMessage] = iter(())
        self._caller: Caller = DIRECT

    # -- opening and closing ----------------------------------------------------------------

    async def _enter(self) -> None:
        await self.open()

    async def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the broker has accepted it."""
        if self._session.failure is not None:
            raise self._session.failure.with_traceback(None)
        self._join()
        async with deadline(self._limit_s(deadline_s), lambda: self._describe(self._unopened)):
            while not self._is_open and not self._reading.is_over:
                await self._driver.wait()
        self._raise_if_over()

    async def close(self, *, deadline_s: float | None = None) -> None:
        """Receive no more; waits until the broker has confirmed it."""
        if self._closed:
            return
        self._closed = True
        if not self._reading.is_over:
            self._reading.close()
            self._driver.wake()
        await self._wait_until_over(deadline_s)

    def _join(self) -> None:
        if not self._opened and not self._closed:
            self._driver.join()
            self._opened = True

    async def _wait_until_over(self, deadline_s: float | None) -> None:
        self._driver.note_change()
        async with deadline(
            self._limit_s(deadline_s), lambda: self._describe("its end was not confirmed")
        ):
            while not self._reading.is_over:
                await self._driver.wait()

    @property
    def _is_open(self) -> bool:
        return self._reading.phase is ReaderPhase.OPEN

    # -- reading ----------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[ReadMessage]:
        """The messages, until it is closed."""
        return self.messages()

    async def messages(self, *, deadline_s: float = math.inf) -> AsyncIterator[ReadMessage]:
        """The messages, until it is closed; raises ``DeadlineExceeded`` if none comes in time."""
        opened_here = await self._open_if_needed()
        try:
            while True:
                for message in self._rows:
                    yield message
                batch = await self._wait_batch(deadline_s)
                if batch is None:
                    return
                self._rows = self._rows_of(batch)
        finally:
            if opened_here and self._closes_after_loop:
                await self.close()

    async def batches(self, *, deadline_s: float = math.inf) -> AsyncIterator[ReadBatch]:
        """The messages as they arrived together, until it is closed."""
        opened_here = await self._open_if_needed()
        try:
            while (batch := await self._wait_whole_batch(deadline_s)) is not None:
                yield batch
        finally:
            if opened_here and self._closes_after_loop:
                await self.close()

    async def next(self, *, deadline_s: float = math.inf) -> ReadMessage:
        """The next message; raises ``DeadlineExceeded`` if none comes in time."""
        while True:
            for message in self._rows:
                return message
            await self._open_if_needed()
            batch = await self._wait_batch(deadline_s)
            if batch is None:
                raise self._closed_error()
            self._rows = self._rows_of(batch)

    async def next_batch(self, *, deadline_s: float = math.inf) -> ReadBatch | None:
        """The next messages that arrived together; None once it is closed."""
        await self._open_if_needed()
        return await self._wait_whole_batch(deadline_s)

    async def _open_if_needed(self) -> bool:
        if self._opened:
            return False
        await self.open()
        return True

    # -- for both halves --------------------------------------------------------------------

    async def _wait_batch(self, deadline_s: float) -> ReadBatch | None:
        """The next batch, none of which the application was given yet; None once it is closed."""
        reader = self._reading
        batch = self._take()
        if batch is None and not reader.is_over:
            async with deadline(deadline_s, lambda: self._describe("no message came")):
                while batch is None and not reader.is_over:
                    self._before_waiting()
                    await self._driver.wait()
                    batch = self._take()
        if batch is None and reader.error is not None:
            raise reader.error.with_traceback(None)
        return batch

    async def _wait_whole_batch(self, deadline_s: float) -> ReadBatch | None:
        """The next batch, all of which the application is given; None once it is closed."""
        return await self._wait_batch(deadline_s)

    async def _wait_batches(self, deadline_s: float) -> list[ReadBatch]:
        """The next whole batch, and those behind it that may be taken along; none once closed."""
        batch = await self._wait_whole_batch(deadline_s)
        return [] if batch is None else [batch]

    def _rows_of(self, batch: ReadBatch) -> Iterator[ReadMessage]:
        """The messages of the batch that was taken last; runs in the application's thread."""
        raise NotImplementedError

    def _take(self) -> ReadBatch | None:
        """The next batch if there is one."""
        raise NotImplementedError

    def _called_from(self, caller: Caller) -> None:
        """Have messages reach the event loop through ``caller``."""
        self._caller = caller

    # -- inside -----------------------------------------------------------------------------

    def _before_waiting(self) -> None:
        """Nothing can be taken: the next step is to wait."""

    def _raise_if_over(self) -> None:
        if self._reading.error is not None:
            raise self._reading.error.with_traceback(None)
        if self._reading.is_over:
            raise self._closed_error()

    def _closed_error(self) -> Disconnected:
        return Disconnected(f"{self._what} is closed")

    def _limit_s(self, deadline_s: float | None) -> float:
        return self._deadline_s if deadline_s is None else deadline_s

    def _describe(self, problem: str) -> str:
        return f"{self._what}: {problem}; {self._session.describe()}"
