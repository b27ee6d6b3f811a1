"""The commit thread: it makes durable whatever arrived while it was busy.

1. One thread serves all logs of a store.  It takes the orders that are waiting, at most
   ``max_commit_bytes`` of them (or one, if that is larger), carries them out and reports them in
   one call.  While it syncs, the next commit collects: the busier the store, the more orders share
   a sync.
2. A commit writes and syncs each log that it touches once (once more for each segment that it
   begins), then carries out all its state changes in one transaction, and only then reports.  So a
   state change never becomes durable before an append that was ordered earlier.
3. Without a bound on a commit its time would grow with the load, and with it everybody's latency.
4. With every transaction of the state the ends are written down of the logs that have grown since
   the last one (penstock.store.segments.log_account).
5. Trimmed segments are given back before the next commit, which may need their space.  The trims
   themselves go to the state database with the next transaction, or when there is nothing else to
   do; until then a crash leaves the log starting lower than it need, which is harmless.
6. On a disk that is quick a little work is done sooner by whoever ordered it than by a thread that
   has to be woken and has to wake somebody in turn (``commit_here``), as long as the caller is not
   busy and that leaves it most of its time.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from threading import Condition, Thread
from typing import Final

import msgspec

from penstock.store.admission import check_room
from penstock.store.interface import Commit, Failure, LogName, StoreClosed
from penstock.store.orders import Append, Order, StateChange
from penstock.store.segments.log import SegmentLog
from penstock.store.segments.spares import SparePool
from penstock.store.state import StateDatabase, StateFailed

logger = logging.getLogger(__name__)

HERE_BYTES: Final = 64 * 1024
"""More than that is not a little work."""

BUSY_SHARE: Final = 0.5
BUSY_WINDOW_S: Final = 0.02
"""A thread that used more of the processor than this, looked at so often, has better things to do
than to wait for a disk: another thread can do that meanwhile."""

REST_TIMES: Final = 3
"""After a commit in its own thread the caller is free for so many times as long, at least."""

COMMIT_MEMORY: Final = 0.2
"""What the last commit counts for in the time that one is taken to need."""


class CommitCounters(msgspec.Struct, frozen=True):
    """What the commit thread has done since the store was opened."""

    commits: int = 0
    log_syncs: int = 0
    orders: int = 0
    order_bytes: int = 0


class GroupCommit:
    """Orders go in from the driver's thread, commits come out on the commit thread."""

    def __init__(
        self,
        logs: Mapping[LogName, SegmentLog],
        state: StateDatabase,
        spares: SparePool,
        on_commit: Callable[[Commit], None],
        *,
        max_commit_bytes: int,
        max_pending_bytes: int,
        quick_commit_s: float,
    ) -> None:
        """Start the thread; ``logs`` may gain logs later."""
        self._logs = logs
        self._state = state
        self._spares = spares
        self._on_commit = on_commit
        self._max_commit_bytes = max_commit_bytes
        self._max_pending_bytes = max_pending_bytes
        # Guarded by the condition, which is signalled when they gain something and nobody works.
        self._changed = Condition()
        self._arrived: list[Order] = []
        self._trimmed: dict[LogName, None] = {}
        self._closed_because: str | None = None
        self._idle = False
        self._pending_bytes = 0
        # The commit thread's own.
        self._waiting: deque[Order] = deque()
        self._in_hand: list[Order] = []
        self._unsaved_trims: dict[LogName, None] = {}
        self._trims_due = False
        self._unsaved_ends: dict[LogName, None] = {}
        self._commits = 0
        self._orders = 0
        self._order_bytes = 0
        self._quick_commit_s = quick_commit_s
        # Until the disk has shown how quick it is, everything is the thread's.
        self._commit_s: float | None = None
        self._here_again_at = 0.0
        self._caller_is_busy = False
        self._caller_seen_at = 0.0
        self._caller_spent_s = 0.0
        self._thread = Thread(target=self._run, name="penstock-commit", daemon=True)
        self._thread.start()

    @property
    def counters(self) -> CommitCounters:
        """What has been done so far."""
        log_syncs = sum(log.syncs for log in list(self._logs.values()))
        return CommitCounters(self._commits, log_syncs, self._orders, self._order_bytes)

    @property
    def pending_bytes(self) -> int:
        """How much has been accepted and not yet reported."""
        return self._pending_bytes

    def submit(self, order: Order, *, wake: bool = True) -> None:
        """Accept an order, or raise; without ``wake`` somebody has to say ``wake`` later."""
        with self._changed:
            self._check_open()
            size_bytes = order.size_bytes
            check_room(self._pending_bytes, size_bytes, self._max_pending_bytes)
            self._pending_bytes += size_bytes
            self._arrived.append(order)
            if wake and self._idle:
                self._changed.notify()

    def wake(self) -> None:
        """Have the thread carry out what was accepted."""
        with self._changed:
            if self._idle and self._arrived:
                self._changed.notify()

    def commit_here(self) -> Commit | None:
        """Carry out what was accepted in the caller's thread, if that is soon done.

        None if it is not, or if the thread is at work: then it is the thread's.  The outcome is
        returned and not reported.
        """
        now = time.monotonic()
        if now - self._caller_seen_at >= BUSY_WINDOW_S:
            self._look_at_caller(now)
        if self._caller_is_busy or not self._idle or now < self._here_again_at:
            return None
        # The thread cannot leave its waiting meanwhile, nor the store be closed.
        with self._changed:
            if not self._idle or not self._arrived or not self._soon_done():
                return None
            orders, self._arrived = self._arrived, []
            self._in_hand = orders
            began = time.monotonic()
            try:
                commit = self._carry_out(orders)
            except Exception as error:
                return self._end_with(error)
            ended = time.monotonic()
            self._here_again_at = ended + REST_TIMES * (ended - began)
            return commit

    def _look_at_caller(self, now: float) -> None:
        spent_s = time.thread_time()
        share = (spent_s - self._caller_spent_s) / (now - self._caller_seen_at)
        self._caller_is_busy = share > BUSY_SHARE
        self._caller_seen_at, self._caller_spent_s = now, spent_s

    def _soon_done(self) -> bool:
        return (
            self._closed_because is None
            and not self._trimmed
            and self._commit_s is not None
            and self._commit_s <= self._quick_commit_s
            and self._pending_bytes <= HERE_BYTES
            and all(isinstance(order, Append) for order in self._arrived)
        )

    def note_trim(self, log: LogName) -> None:
        """Have the trimmed segments of a log given back, and its trim saved."""
        with self._changed:
            self._check_open()
            self._trimmed[log] = None
            if self._idle:
                self._changed.notify()

    def close(self) -> None:
        """Carry out what was accepted, and end the thread."""
        with self._changed:
            if self._closed_because is None:
                self._closed_because = "the store was closed"
            self._changed.notify()
        self._thread.join()

    def _check_open(self) -> None:
        if self._closed_because is not None:
            raise StoreClosed(f"nothing more is accepted: {self._closed_because}")

    def _run(self) -> None:
        try:
            while self._collect():
                self._in_hand = self._next_orders()
                if self._in_hand:
                    self._report(self._carry_out(self._in_hand))
                else:
                    self._save_trims()
            if self._unsaved_trims:
                self._save_trims()
        except Exception as error:
            self._report(self._end_with(error))

    def _end_with(self, error: Exception) -> Commit:
        """Something happened that nobody has foreseen."""
        logger.exception("a commit was broken off; nothing more is accepted")
        return self._give_up(
            f"a commit was broken off by {error!r}, so it is unknown what is durable; "
            "open the store again"
        )

    def _collect(self) -> bool:
        """Wait for work and take it over; False when all is done and the store is closed."""
        with self._changed:
            while not (self._waiting or self._trims_due or self._arrived or self._trimmed):
                if self._closed_because is not None:
                    return False
                self._idle = True
                self._changed.wait()
            self._idle = False
            self._waiting.extend(self._arrived)
            self._arrived.clear()
            trimmed, self._trimmed = self._trimmed, {}
        for log in trimmed:
            self._logs[log].drop_trimmed()
        self._unsaved_trims.update(trimmed)
        self._trims_due = self._trims_due or bool(trimmed)
        return True

    def _next_orders(self) -> list[Order]:
        """What goes into one commit."""
        orders: list[Order] = []
        room_bytes = self._max_commit_bytes
        while self._waiting:
            room_bytes -= self._waiting[0].size_bytes
            if orders and room_bytes < 0:
                break
            orders.append(self._waiting.popleft())
        return orders

    def _carry_out(self, orders: list[Order]) -> Commit:
        began = time.monotonic()
        failed = self._write(orders)
        self._commits += 1
        took_s = time.monotonic() - began
        before_s = took_s if self._commit_s is None else self._commit_s
        self._commit_s = before_s + COMMIT_MEMORY * (took_s - before_s)
        return self._outcome(orders, failed)

    def _write(self, orders: list[Order]) -> list[Failure]:
        appends: dict[LogName, list[Append]] = {}
        changes: list[StateChange] = []
        for order in orders:
            if isinstance(order, Append):
                appends.setdefault(order.log, []).append(order)
            else:
                changes.append(order)
        failed: list[Failure] = []
        for log, of_log in appends.items():
            failed.extend(self._logs[log].commit(of_log))
        self._unsaved_ends.update(dict.fromkeys(appends))
        if changes:
            failed.extend(self._change_state(changes))
        return failed

    def _change_state(self, changes: Sequence[StateChange]) -> list[Failure]:
        values: dict[str, bytes | None] = {}
        for change in changes:
            values.update(change.values)
        try:
            self._transact(values)
        except StateFailed as failed:
            reason, retriable, uncertain = failed.reason, failed.retriable, failed.uncertain
            return [
                Failure(change.token, None, reason, retriable, uncertain=uncertain)
                for change in changes
            ]
        return []

    def _save_trims(self) -> None:
        self._trims_due = False
        try:
            self._transact({})
        except StateFailed as failed:
            logger.warning("trims are not saved yet: %s", failed.reason)

    def _transact(self, values: Mapping[str, bytes | None]) -> None:
        """Change the state, and save with it the trims that are not saved yet."""
        trims = {log: self._logs[log].first_low for log in self._unsaved_trims}
        ends = {log: self._logs[log].end_high for log in self._unsaved_ends}
        lost = {log: self._logs[log].missing() for log in self._unsaved_trims}
        try:
            self._state.change(values, trims, ends=ends, lost=lost)
        except StateFailed as failed:
            # On a full disk the spare segments are room that we can give ourselves.
            if not (failed.retriable and self._spares.clear()):
                raise
            self._state.change(values, trims, ends=ends, lost=lost)
        self._unsaved_trims.clear()
        self._unsaved_ends.clear()
        self._trims_due = False

    def _outcome(self, orders: list[Order], failed: list[Failure]) -> Commit:
        """How orders ended; they are no longer pending when the driver hears of it."""
        failed_tokens = {failure.token for failure in failed}
        durable = [order.token for order in orders if order.token not in failed_tokens]
        size_bytes = sum(order.size_bytes for order in orders)
        self._orders += len(orders)
        self._order_bytes += size_bytes
        self._in_hand = []
        with self._changed:
            self._pending_bytes -= size_bytes
        return Commit(durable, failed)

    def _report(self, commit: Commit) -> None:
        try:
            self._on_commit(commit)
        except Exception:
            # The orders are carried out all the same, and others wait behind them.
            logger.exception("on_commit failed for tokens %s", commit.durable)

    def _give_up(self, reason: str) -> Commit:
        """Fail everything that was accepted, and accept nothing more."""
        with self._changed:
            self._closed_because = reason
            in_hand, untouched = self._in_hand, [*self._waiting, *self._arrived]
            self._arrived.clear()
            self._changed.notify()
        failed = [_unfinished(order, reason, uncertain=True) for order in in_hand]
        failed += [_unfinished(order, reason, uncertain=False) for order in untouched]
        return self._outcome([*in_hand, *untouched], failed)


def _unfinished(order: Order, reason: str, *, uncertain: bool) -> Failure:
    log = order.log if isinstance(order, Append) else None
    return Failure(order.token, log, reason, retriable=False, uncertain=uncertain)
