"""The rows of one queue: from the disk to a consumer, and out of the world.

A durable row is in exactly one of these places:

1. *in doubt*: an alias queue has not decided whose it is (penstock.services.queues.queue.prepared);
2. *ready*: it waits for a consumer;
3. *held*: a consumer has it;
4. *dying*: it is on its way to the dead-letter queue, because it was handed out in vain too often,
   was rejected, or outlived its time;
5. *leaving*: it is settled, and the note that says so is not durable yet.

After a crash every row that is not settled is in doubt or ready.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from penstock.content.rows.batch import Batch
from penstock.core.clock import NEVER, Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect, LogRead
from penstock.core.tokens import Tokens
from penstock.services.queues.log.append import entry_of
from penstock.services.queues.log.entries import Entries, Entry
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.log.settlements import Settlements
from penstock.services.queues.messages import DeadLetter, RowsEntry, SenderEntry, SettlementEntry
from penstock.services.queues.parameters import QueueConfig, QueueParameters
from penstock.services.queues.queue.consumers import Consumers
from penstock.services.queues.queue.handed_rows import HandedRows
from penstock.services.queues.queue.prepared import Doubt
from penstock.services.queues.queue.ready import ReadyRows
from penstock.services.queues.queue.senders import alias_of_origin


class QueueRows:
    """Where every row of a queue is."""

    def __init__(
        self,
        config: QueueConfig,
        parameters: QueueParameters,
        tokens: Tokens,
        *,
        saved: Mapping[str, bytes],
        logs: Mapping[str, tuple[int, int, int]],
        now: Instant,
    ) -> None:
        """``saved`` and ``logs`` are what was found on the disk."""
        self.config = config
        self.journal = Journal(
            f"queue/{config.name}", parameters, tokens, saved=saved, logs=logs, now=now
        )
        self.entries = Entries(parameters.memory_bytes)
        self.ready = ReadyRows()
        self.doubt = Doubt()
        self.handed = HandedRows()
        self.consumers = Consumers()
        self.attempts: dict[int, int] = {}
        self.settlements = Settlements(
            self.journal, parameters.store_retry_ns, parameters.company_ns
        )
        self.expired_messages = 0
        self.dead_messages = 0
        self.lost_messages = 0
        self._retry_ns = parameters.store_retry_ns
        self._dying: deque[tuple[int, int, str]] = deque()
        self._buried_under_way: dict[tuple[Interval, ...], str] = {}
        self.bury_at: Instant | None = None
        self._expiries: list[tuple[Instant, int]] = []
        self._recovered_settled = IntervalSet()
        self._recovered_committed = IntervalSet()

    # -- recovery ---------------------------------------------------------------------------

    def recovered(self, fact: LogRead, out: list[Effect]) -> bool:
        """A piece of the journal was read; True when the rows are complete."""
        for entry in fact.frames:
            if isinstance(entry, RowsEntry):
                self.entries.add(entry_of(entry, recovered=True))
                if entry.producer:
                    self.handed.found(entry)
                elif entry.frame.low >= self.journal.checkpointed_to:
                    self.journal.origins.add(entry.origin, entry.first_sequence, len(entry.frame))
            elif isinstance(entry, SettlementEntry):
                self._recover_note(entry)
            elif isinstance(entry, SenderEntry):
                self.journal.sender_found(entry)
        if not self.journal.recovered(fact, out):
            return False
        self._rebuild()
        return True

    def _recover_note(self, note: SettlementEntry) -> None:
        for low, high in note.settled:
            self._recovered_settled.add(low, high)
            self.entries.settle(low, high)
        for low, high in note.committed:
            self._recovered_committed.add(low, high)
        for low, high, attempts in note.attempts:
            for position in range(low, high):
                self.attempts[position] = attempts

    def _rebuild(self) -> None:
        """Put every row that was read and is not settled where it belongs."""
        settled, committed = self._recovered_settled, self._recovered_committed
        for entry in list(self.entries.within(0, NEVER)):
            sure = committed if entry.in_doubt else IntervalSet([(entry.low, entry.high)])
            for low, high in settled.gaps(entry.low, entry.high):
                for sure_low, sure_high in sure.within(low, high):
                    self._recover_ready(entry, sure_low, sure_high)
                for doubt_low, doubt_high in sure.gaps(low, high):
                    self._into_doubt(entry, doubt_low, doubt_high)
            self._note_expiry(entry)
        self._recovered_settled = IntervalSet()
        self._recovered_committed = IntervalSet()
        for position in [each for each in self.attempts if self.entries.find(each) is None]:
            del self.attempts[position]

    def _recover_ready(self, entry: Entry, low: int, high: int) -> None:
        if not self.attempts:
            self._wait(entry, low, high)
            return
        for position in range(low, high):
            if self.attempts.get(position, 0) >= self.config.max_deliveries:
                self._give_up(position, position + 1, self._tried_too_often())
            else:
                self._wait(entry, position, position + 1)

    # -- arrival ----------------------------------------------------------------------------

    def arrived(self, stored: RowsEntry) -> None:
        """Rows are durable."""
        entry = entry_of(stored)
        self.entries.add(entry)
        if stored.producer:
            self.handed.add(stored)
        if stored.in_doubt:
            self._into_doubt(entry, entry.low, entry.high)
        else:
            self._wait(entry, entry.low, entry.high)
        self._note_expiry(entry)

    def _into_doubt(self, entry: Entry, low: int, high: int) -> None:
        first = entry.first_sequence + low - entry.low
        self.doubt.add(alias_of_origin(entry.origin), first, first + high - low, low)

    def _wait(self, entry: Entry, low: int, high: int) -> None:
        self.ready.add(entry.priority, low, high)
        self.consumers.rows_came(entry.priority, low)

    def committed(self, low: int, high: int) -> None:
        """Rows that were in doubt are this queue's: they may be handed out."""
        for entry in list(self.entries.within(low, high)):
            self._wait(entry, max(low, entry.low), min(high, entry.high))
        self.settlements.commit(low, high)

    # -- return -----------------------------------------------------------------------------

    def came_back(self, parts: Iterable[Interval], now: Instant, *, counted: bool) -> None:
        """Rows that a consumer held are not its any more and were not done."""
        for low, high in parts:
            for entry in list(self.entries.within(low, high)):
                part_low, part_high = max(low, entry.low), min(high, entry.high)
                if entry.expires_at and entry.expires_at <= now:
                    self._expire(part_low, part_high)
                elif counted:
                    self._tried_in_vain(entry, part_low, part_high)
                else:
                    self._wait(entry, part_low, part_high)

    def may_have_been_given(self, rows: Iterable[Interval]) -> None:
        """A connection broke: whether an application had these rows is not known for sure.

        They are not counted, and the next consumer says before it gives one of them.
        """
        for low, high in rows:
            for position in range(low, high):
                self.attempts.setdefault(position, 0)

    def _tried_in_vain(self, entry: Entry, low: int, high: int) -> None:
        run_low, run_attempts = low, 0
        for position in range(low, high):
            attempts = self.attempts.get(position, 0) + 1
            self.attempts[position] = attempts
            if attempts != run_attempts:
                self._note_attempts(entry, run_low, position, run_attempts)
                run_low, run_attempts = position, attempts
        self._note_attempts(entry, run_low, high, run_attempts)

    def _note_attempts(self, entry: Entry, low: int, high: int, attempts: int) -> None:
        if low >= high:
            return
        self.settlements.attempted(low, high, attempts)
        if attempts >= self.config.max_deliveries:
            self._give_up(low, high, self._tried_too_often())
        else:
            self._wait(entry, low, high)

    def _tried_too_often(self) -> str:
        return f"handed out {self.config.max_deliveries} times in vain"

    # -- departure --------------------------------------------------------------------------

    def settle(self, parts: Iterable[Interval]) -> None:
        """Rows are done with, once the note that says so is durable."""
        for low, high in parts:
            self.settlements.settle(low, high)

    def settled(self, intervals: Iterable[Interval]) -> int:
        """Rows are settled durably, and gone; how many."""
        count = 0
        for low, high in intervals:
            count += self.entries.settle(low, high)
            if self.attempts:
                for position in range(low, high):
                    self.attempts.pop(position, None)
        return count

    def reject(self, parts: Iterable[Interval], reason: str) -> None:
        """Rows that a consumer declares hopeless."""
        for low, high in parts:
            self._give_up(low, high, reason)

    def _give_up(self, low: int, high: int, reason: str) -> None:
        self.dead_messages += high - low
        if self.config.dead_letter_queue:
            self._dying.append((low, high, reason))
        else:
            self.settlements.settle(low, high)

    def trim(self, out: list[Effect]) -> None:
        """Give back the part of the journal that nobody needs."""
        needed = [each for each in (self.entries.lowest, self.handed.lowest) if each is not None]
        self.journal.trim(min(needed, default=None), out)

    def purge(self) -> int:
        """Everything that waits is settled; how many rows."""
        parts = [(priority, list(level)) for priority, level in self.ready.levels()]
        before = self.ready.count
        for priority, intervals in parts:
            for low, high in intervals:
                self.ready.remove(priority, low, high)
                self.settlements.settle(low, high)
        return before

    def lose(self, fact: LogRead) -> None:
        """Settle the rows whose bodies the disk can no longer read."""
        self.journal.note_lost(fact)
        for lost_low, lost_high in fact.lost:
            for entry in list(self.entries.within(lost_low, lost_high)):
                if entry.frame is not None:
                    continue
                for low, high in self.ready.within(entry.priority, entry.low, entry.high):
                    self.ready.remove(entry.priority, low, high)
                    self._lose(low, high)
                dying = [each for each in self._dying if entry.low <= each[0] < entry.high]
                for each in dying:
                    self._dying.remove(each)
                    self._lose(each[0], min(each[1], entry.high))
                    if each[1] > entry.high:
                        self._dying.appendleft((entry.high, each[1], each[2]))

    def _lose(self, low: int, high: int) -> None:
        self.lost_messages += high - low
        self.settlements.settle(low, high)

    # -- expiry -----------------------------------------------------------------------------

    def _note_expiry(self, entry: Entry) -> None:
        if entry.expires_at:
            heappush(self._expiries, (entry.expires_at, entry.low))

    def expire(self, now: Instant) -> None:
        """Rows that wait and whose time is over leave; held ones when they come back."""
        while self._expiries and self._expiries[0][0] <= now:
            _, position = heappop(self._expiries)
            entry = self.entries.find(position)
            if entry is None:
                continue
            for low, high in self.ready.within(entry.priority, entry.low, entry.high):
                self.ready.remove(entry.priority, low, high)
                self._expire(low, high)

    def _expire(self, low: int, high: int) -> None:
        self.expired_messages += high - low
        if self.config.keep_expired:
            self._give_up(low, high, "expired")
        else:
            self.settlements.settle(low, high)

    def next_expiry(self) -> Instant | None:
        """When the next entry expires."""
        return self._expiries[0][0] if self._expiries else None

    # -- dead letters -----------------------------------------------------------------------

    def bury(self, now: Instant, letters: list[DeadLetter]) -> int | None:
        """Write letters about dying rows; returns a position whose body is needed first."""
        if self.bury_at is not None and now < self.bury_at:
            return None
        self.bury_at = None
        while self._dying:
            low, high, reason = self._dying[0]
            entry = self.entries.find(low)
            assert entry is not None, f"row {low} is dying and does not exist"
            if entry.frame is None:
                return low
            cut = min(high, entry.high)
            if cut < high:
                self._dying[0] = (cut, high, reason)
            else:
                self._dying.popleft()
            batch = self._letter_body(entry, low, cut, reason)
            intervals = ((low, cut),)
            self._buried_under_way[intervals] = reason
            letters.append(
                DeadLetter(self.config.name, self.config.dead_letter_queue, intervals, batch)
            )
        return None

    def _letter_body(self, entry: Entry, low: int, high: int, reason: str) -> Batch:
        assert entry.frame is not None
        batch = entry.frame.slice(low, high).batch
        about = {"dead_letter_queue": self.config.name, "dead_letter_reason": reason}
        rows = zip(batch.attribute_rows(), batch.payload_rows(), strict=True)
        return Batch.from_rows([({**attributes, **about}, payload) for attributes, payload in rows])

    def buried(self, intervals: tuple[Interval, ...], failure: str, now: Instant) -> None:
        """The dead-letter queue has the rows durably, or could not take them yet."""
        reason = self._buried_under_way.pop(intervals)
        if failure:
            self._dying.extendleft((low, high, reason) for low, high in intervals)
            self.bury_at = now + self._retry_ns
            return
        for low, high in intervals:
            self.settlements.settle(low, high)
