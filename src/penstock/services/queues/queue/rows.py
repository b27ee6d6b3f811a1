"""The rows of one queue: from the journal to a consumer, until they are settled.

A durable row is in exactly one of these places:

1. *prepared*: an alias queue has not decided which destination owns it (``queue/prepared``);
2. *ready*: it waits for a consumer;
3. *in flight*: it was delivered to a consumer that has not settled it (``queue/consumers``);
4. *given up*: it is on its way to the dead-letter queue (``queue/dead_letters``);
5. *settling*: it is settled, and the note that says so is not durable yet (``log/settlements``).

After a crash every row that is not settled is prepared or ready.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from penstock.core.clock import NEVER, Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.services.queues.log.append import entry_of
from penstock.services.queues.log.entries import Entries, Entry
from penstock.services.queues.log.settlements import Settlements
from penstock.services.queues.messages import RowsEntry, SettlementEntry
from penstock.services.queues.parameters import QueueConfig
from penstock.services.queues.queue.consumers import Consumers
from penstock.services.queues.queue.dead_letters import DeadLetters
from penstock.services.queues.queue.prepared import AliasKey, PreparedRows
from penstock.services.queues.queue.ready import ReadyRows
from penstock.services.queues.queue.senders import alias_of_origin


class QueueRows:
    """Moves the rows of one queue between their places."""

    def __init__(
        self,
        config: QueueConfig,
        entries: Entries,
        consumers: Consumers,
        settlements: Settlements,
        dead_letters: DeadLetters,
    ) -> None:
        self._max_deliveries = config.max_deliveries
        self._keep_expired = config.keep_expired
        self._entries = entries
        self._consumers = consumers
        self._settlements = settlements
        self._dead_letters = dead_letters
        self.ready = ReadyRows()
        self.prepared = PreparedRows()
        self.attempts: dict[int, int] = {}
        """For each row the deliveries that were not acknowledged; 0: there may have been one."""
        self.expired_messages = 0
        self.lost_messages = 0
        self._expiries: list[tuple[Instant, int]] = []
        self._recovered_settled = IntervalSet()
        self._recovered_committed = IntervalSet()

    # -- recovery ---------------------------------------------------------------------------

    def recover_note(self, note: SettlementEntry) -> None:
        """Take a note that a restart has read."""
        for low, high in note.settled:
            self._recovered_settled.add(low, high)
            self._entries.settle(low, high)
        for low, high in note.committed:
            self._recovered_committed.add(low, high)
        for low, high, attempts in note.attempts:
            for position in range(low, high):
                self.attempts[position] = attempts

    def place_recovered(self) -> None:
        """Make every recovered row that is not settled prepared or ready."""
        settled, committed = self._recovered_settled, self._recovered_committed
        for entry in list(self._entries.within(0, NEVER)):
            own = committed if entry.prepared else IntervalSet([(entry.low, entry.high)])
            for low, high in settled.gaps(entry.low, entry.high):
                for own_low, own_high in own.within(low, high):
                    self._recover_ready(entry, own_low, own_high)
                for prepared_low, prepared_high in own.gaps(low, high):
                    self._prepare(entry, prepared_low, prepared_high)
            self._note_expiry(entry)
        self._recovered_settled = IntervalSet()
        self._recovered_committed = IntervalSet()
        for position in [each for each in self.attempts if self._entries.find(each) is None]:
            del self.attempts[position]

    def _recover_ready(self, entry: Entry, low: int, high: int) -> None:
        if not self.attempts:
            self._make_ready(entry, low, high)
            return
        for position in range(low, high):
            if self.attempts.get(position, 0) >= self._max_deliveries:
                self._dead_letters.give_up(position, position + 1, self._tried_too_often())
            else:
                self._make_ready(entry, position, position + 1)

    # -- arrival ----------------------------------------------------------------------------

    def arrived(self, stored: RowsEntry) -> None:
        """Rows are durable: they are prepared or ready."""
        entry = entry_of(stored)
        self._entries.add(entry)
        if entry.prepared:
            self._prepare(entry, entry.low, entry.high)
        else:
            self._make_ready(entry, entry.low, entry.high)
        self._note_expiry(entry)

    def _prepare(self, entry: Entry, low: int, high: int) -> None:
        first = entry.first_sequence + low - entry.low
        self.prepared.add(alias_of_origin(entry.origin), first, first + high - low, low)

    def _make_ready(self, entry: Entry, low: int, high: int) -> None:
        self.ready.add(entry.priority, low, high)
        self._consumers.rows_came(entry.priority, low)

    def commit(self, alias: AliasKey, low: int, high: int) -> int:
        """Make prepared rows ready: they belong to this queue; returns how many there were."""
        count = 0
        for part_low, part_high in self.prepared.take(alias, low, high):
            count += part_high - part_low
            for entry in list(self._entries.within(part_low, part_high)):
                self._make_ready(entry, max(part_low, entry.low), min(part_high, entry.high))
            self._settlements.commit(part_low, part_high)
        return count

    def withdraw(self, alias: AliasKey, low: int, high: int) -> None:
        """Settle prepared rows: they belong to another destination."""
        self.settle(self.prepared.take(alias, low, high))

    # -- redelivery -------------------------------------------------------------------------

    def redeliver(self, parts: Iterable[Interval], now: Instant, *, counted: bool) -> None:
        """Make rows ready again that a consumer had and did not acknowledge.

        A ``counted`` delivery brings them nearer to ``max_deliveries``.
        """
        for low, high in parts:
            for entry in list(self._entries.within(low, high)):
                part_low, part_high = max(low, entry.low), min(high, entry.high)
                if entry.expires_at and entry.expires_at <= now:
                    self._expire(part_low, part_high)
                elif counted:
                    self._count_attempt(entry, part_low, part_high)
                else:
                    self._make_ready(entry, part_low, part_high)

    def mark_maybe_delivered(self, rows: Iterable[Interval]) -> None:
        """A connection broke, and it is unknown whether the application received these rows.

        The delivery is not counted, but the next consumer reports each of these rows before it
        gives it to its application.
        """
        for low, high in rows:
            for position in range(low, high):
                self.attempts.setdefault(position, 0)

    def _count_attempt(self, entry: Entry, low: int, high: int) -> None:
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
        self._settlements.attempted(low, high, attempts)
        if attempts >= self._max_deliveries:
            self._dead_letters.give_up(low, high, self._tried_too_often())
        else:
            self._make_ready(entry, low, high)

    def _tried_too_often(self) -> str:
        return f"handed out {self._max_deliveries} times in vain"

    # -- settlement -------------------------------------------------------------------------

    def settle(self, parts: Iterable[Interval]) -> None:
        """Settle rows; they leave when the note is durable."""
        for low, high in parts:
            self._settlements.settle(low, high)

    def settled(self, intervals: Iterable[Interval]) -> None:
        """The settlement of rows is durable: forget them."""
        for low, high in intervals:
            self._entries.settle(low, high)
            if self.attempts:
                for position in range(low, high):
                    self.attempts.pop(position, None)

    def reject(self, parts: Iterable[Interval], reason: str) -> None:
        """Give up rows that a consumer rejected."""
        for low, high in parts:
            self._dead_letters.give_up(low, high, reason)

    def purge(self) -> int:
        """Settle every ready row; returns how many there were."""
        parts = [(priority, list(level)) for priority, level in self.ready.levels()]
        before = self.ready.count
        for priority, intervals in parts:
            for low, high in intervals:
                self.ready.remove(priority, low, high)
                self._settlements.settle(low, high)
        return before

    def lose(self, lost: Iterable[Interval]) -> None:
        """Settle the rows whose bodies the disk can no longer read."""
        for lost_low, lost_high in lost:
            for entry in list(self._entries.within(lost_low, lost_high)):
                if entry.frame is not None:
                    continue
                for low, high in self.ready.within(entry.priority, entry.low, entry.high):
                    self.ready.remove(entry.priority, low, high)
                    self._lose(low, high)
                for low, high in self._dead_letters.lose(entry):
                    self._lose(low, high)

    def _lose(self, low: int, high: int) -> None:
        self.lost_messages += high - low
        self._settlements.settle(low, high)

    # -- expiry -----------------------------------------------------------------------------

    def _note_expiry(self, entry: Entry) -> None:
        if entry.expires_at:
            heappush(self._expiries, (entry.expires_at, entry.low))

    def expire(self, now: Instant) -> None:
        """Remove ready rows that have expired; in-flight rows expire when they come back."""
        while self._expiries and self._expiries[0][0] <= now:
            _, position = heappop(self._expiries)
            entry = self._entries.find(position)
            if entry is None:
                continue
            for low, high in self.ready.within(entry.priority, entry.low, entry.high):
                self.ready.remove(entry.priority, low, high)
                self._expire(low, high)

    def _expire(self, low: int, high: int) -> None:
        self.expired_messages += high - low
        if self._keep_expired:
            self._dead_letters.give_up(low, high, "expired")
        else:
            self._settlements.settle(low, high)

    def next_expiry(self) -> Instant | None:
        return self._expiries[0][0] if self._expiries else None

    # -- invariants -------------------------------------------------------------------------

    def problem(self) -> str:
        """Why the places of the rows are impossible; empty if they are possible."""
        in_flight = self._consumers.in_flight_rows
        ready, prepared, entries = self.ready.count, self.prepared.rows, self._entries.rows
        if ready + in_flight + prepared > entries:
            return (
                f"{ready} ready, {in_flight} in flight and {prepared} prepared are more than its "
                f"{entries} messages"
            )
        seen = IntervalSet()
        places = [level for _, level in self.ready.levels()]
        places += [consumer.in_flight for consumer in self._consumers]
        for place in places:
            for low, high in place:
                if seen.within(low, high):
                    return f"rows in [{low}, {high}) are in two places"
                seen.add(low, high)
        return ""
