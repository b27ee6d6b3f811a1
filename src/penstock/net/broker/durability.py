"""Carries out the machine's store effects, and turns the store's answers into facts.

1. Appends and state changes of one turn of the loop are committed together.  A small amount on a
   fast disk is committed on the event loop at the end of the turn; otherwise the store's commit
   thread commits it and reports back to the event loop.  Both become ``Persisted`` or
   ``PersistFailed``.
2. Reads may wait for the disk, so they run on a thread of their own, a few at a time: results that
   are not yet handed to the machine are bounded by ``READS_UNDER_WAY``.
3. An order that the store refuses immediately (overload, too large a record) fails in the same way
   as one that it refuses later, never inside the call that gave the order.
4. Between two reads of catch-up data the loop sleeps briefly.  The scheduler delays a thread that
   never sleeps when other threads have work, and live traffic would be delayed with it.
5. Damaged entries are reported as lost.  A read that fails in another way (no file descriptor is
   left, for instance) is answered after a pause with no entries: the requester will read again,
   and the broker's log holds the cause.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from penstock.content.codec.malformed import MalformedMessage
from penstock.content.codec.stream import encode
from penstock.core.intervals import IntervalSet, Tick
from penstock.core.machine import (
    Fact,
    LogRead,
    Persist,
    Persisted,
    PersistFailed,
    PersistState,
    ReadLog,
    TrimLog,
)
from penstock.overlay.wire import log_decoder
from penstock.store.disk import DiskStore, StoreOptions
from penstock.store.interface import Commit, StoreError
from penstock.store.log_bounds import recovered_logs

logger = logging.getLogger(__name__)

READS_UNDER_WAY: Final = 4
"""One being read, one being handed over, and two more so that neither side waits for the other."""

PAST_PAUSE_S: Final = 0.001
"""The shortest sleep of an event loop; most of it overlaps with sending the previous result."""

MOST_UNANSWERED: Final = 8192
"""The most orders of the machine that are not answered: each takes half a kilobyte beside its own
bytes, and some 50 µs to answer, so that answering all of them blocks the loop for half a second."""

FAILED_READ_PAUSE_S: Final = 1.0
"""A damaged file does not repair itself: one retry a second suffices and keeps the log readable."""


class Durability:
    """One broker's store, driven from the event loop."""

    def __init__(self, on_facts: Callable[[list[Fact]], None]) -> None:
        """``on_facts`` receives the store's answers, on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._on_facts = on_facts
        self._opened: DiskStore | None = None
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="penstock-read")
        self._log_decoder = log_decoder()
        self._waiting_reads: deque[ReadLog] = deque()
        self._reads_under_way = 0
        self._past_rests = False
        self._last_own_token = 0
        self._own_orders: dict[int, asyncio.Future[None]] = {}
        self._commit_scheduled = False
        self._unanswered = 0

    async def open(self, directory: Path, options: StoreOptions) -> None:
        """Open the store and recover the data of earlier runs; raises ``StoreError``."""
        self._opened = await self._loop.run_in_executor(
            self._reader, DiskStore, directory, self._commit_thread_reports, options
        )

    @property
    def _store(self) -> DiskStore:
        assert self._opened is not None, "the store is not open"
        return self._opened

    async def close(self) -> None:
        """Commit all pending orders and close the store."""
        if self._opened is not None:
            await self._loop.run_in_executor(self._reader, self._opened.close)
            self._opened = None
        self._reader.shutdown(wait=False)

    # -- recovered state --------------------------------------------------------------------

    def saved(self) -> dict[str, bytes]:
        """The saved named values."""
        return self._store.load_state()

    def logs(self) -> dict[str, tuple[Tick, Tick, int]]:
        """First tick, end and size of each log."""
        return recovered_logs(self._store)

    def problems(self) -> list[str]:
        """Problems of the store, as sentences."""
        return [
            f"log {name!r} is damaged: "
            + ", ".join(f"[{low}, {high})" for low, high in lost)
            + f" {'is' if len(lost) == 1 else 'are'} lost; see penstock log check"
            for name, lost in self._store.lost().items()
        ]

    @property
    def load(self) -> float:
        """The used share of the store's limit of uncommitted orders: 1 is too much.

        Small orders count by their number, because a flood of them would fill the memory before
        it reaches the limit in bytes.
        """
        in_bytes = self._store.pending_bytes / self._store.max_pending_bytes
        return max(in_bytes, self._unanswered / MOST_UNANSWERED)

    # -- orders -----------------------------------------------------------------------------

    def persist(self, order: Persist) -> None:
        """Append an entry to a log."""
        frame = order.frame.frame
        chunks = encode(order.frame)
        try:
            note = not len(frame)
            self._store.append(
                order.token, order.log, frame.low, frame.high, chunks, note=note, wake=False
            )
            self._unanswered += 1
            self._commit_soon()
        except StoreError as error:
            self._fail_soon(order.token, error)

    def persist_state(self, order: PersistState) -> None:
        """Set named values."""
        try:
            self._store.set_state(order.token, order.values, wake=False)
            self._unanswered += 1
            self._commit_soon()
        except StoreError as error:
            self._fail_soon(order.token, error)

    def trim(self, order: TrimLog) -> None:
        """Delete the entries of a log below a tick."""
        self._store.trim(order.log, order.below)

    async def save(self, values: Mapping[str, bytes | None]) -> None:
        """Set named values of the broker process itself, and wait until they are durable."""
        # The machine's tokens are positive.
        self._last_own_token -= 1
        saved = self._own_orders[self._last_own_token] = self._loop.create_future()
        self._store.set_state(self._last_own_token, dict(values))
        await saved

    def _fail_soon(self, token: int, error: StoreError) -> None:
        failed: list[Fact] = [PersistFailed(token, str(error))]
        self._loop.call_soon(self._on_facts, failed)

    # -- commits ----------------------------------------------------------------------------

    def _commit_soon(self) -> None:
        if not self._commit_scheduled:
            self._commit_scheduled = True
            self._loop.call_soon(self._commit)

    def _commit(self) -> None:
        self._commit_scheduled = False
        if self._opened is not None:
            commit = self._opened.commit()
            if commit is not None:
                self._committed(commit)

    def _commit_thread_reports(self, commit: Commit) -> None:
        self._loop.call_soon_threadsafe(self._committed, commit)

    def _committed(self, commit: Commit) -> None:
        facts: list[Fact] = []
        for failure in commit.failed:
            where = failure.log or "the state"
            what = "cannot tell whether it wrote" if failure.uncertain else "refused to write"
            logger.error("the store %s to %s: %s", what, where, failure.reason)
            if self._opened is not None:
                self._opened.resume_after(failure)
            self._answer(
                failure.token,
                PersistFailed(failure.token, failure.reason, failure.uncertain),
                facts,
            )
        for token in commit.durable:
            self._answer(token, None, facts)
        if facts:
            self._on_facts(facts)

    def _answer(self, token: int, failed: PersistFailed | None, facts: list[Fact]) -> None:
        own = self._own_orders.pop(token, None)
        if own is None:
            self._unanswered -= 1
            facts.append(failed or Persisted(token))
        elif failed is not None:
            own.set_exception(StoreError(failed.reason))
        else:
            own.set_result(None)

    # -- reads ------------------------------------------------------------------------------

    def read(self, order: ReadLog) -> None:
        """Read a piece of a log."""
        self._waiting_reads.append(order)
        self._start_reads()

    def _start_reads(self) -> None:
        while self._waiting_reads and self._reads_under_way < READS_UNDER_WAY:
            if self._past_rests and self._waiting_reads[0].max_frames:
                return
            order = self._waiting_reads.popleft()
            self._reads_under_way += 1
            reading = self._loop.run_in_executor(self._reader, self._read, order)
            reading.add_done_callback(partial(self._read_done, order))

    def _read(self, order: ReadLog) -> LogRead:
        """Runs on the reader thread, the only thread that uses the decoder."""
        limits = (order.max_bytes, order.max_frames)
        found = self._store.read(order.log, order.low, order.high, *limits)
        entries, lost = [], IntervalSet(found.lost)
        for record in found.records:
            try:
                entries.append(self._log_decoder.decode(record.data))
            except MalformedMessage as error:
                logger.error(
                    "log %s: [%d, %d) cannot be understood and is lost: %s",
                    order.log,
                    record.low,
                    record.high,
                    error,
                )
                lost.add(record.low, record.high)
        return LogRead(
            order.token, tuple(entries), found.complete_to, found.complete_from, tuple(lost)
        )

    def _read_done(self, order: ReadLog, done: asyncio.Future[LogRead]) -> None:
        self._reads_under_way -= 1
        if order.max_frames and not self._past_rests:
            self._past_rests = True
            self._loop.call_later(PAST_PAUSE_S, self._past_rested)
        try:
            answer = done.result()
        except (StoreError, OSError) as error:
            logger.error("log %s: [%d, %d): %s", order.log, order.low, order.high, error)
            nothing: list[Fact] = [LogRead(order.token, (), order.low)]
            self._loop.call_later(FAILED_READ_PAUSE_S, self._on_facts, nothing)
        else:
            self._on_facts([answer])
        if self._opened is not None:
            self._start_reads()

    def _past_rested(self) -> None:
        self._past_rests = False
        if self._opened is not None:
            self._start_reads()
