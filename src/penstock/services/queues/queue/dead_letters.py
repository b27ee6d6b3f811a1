"""Dead letters: rows that a queue gives up, on their way to its dead-letter queue.

1. A row is given up when it was rejected, expired (with ``keep_expired``), or was delivered
   ``max_deliveries`` times without being acknowledged.
2. It stays in the journal of the queue until the dead-letter queue has stored it; a dead-letter
   queue that refuses it is tried again later.
3. Without a dead-letter queue the row is settled at once.
"""

from __future__ import annotations

from collections import deque

from penstock.content.rows.batch import Batch
from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Interval
from penstock.services.queues.log.entries import Entries, Entry
from penstock.services.queues.log.settlements import Settlements
from penstock.services.queues.messages import DeadLetter
from penstock.services.queues.parameters import QueueConfig


class DeadLetters:
    """The rows of one queue that were given up and are not settled."""

    def __init__(
        self, config: QueueConfig, entries: Entries, settlements: Settlements, retry_ns: Duration
    ) -> None:
        self._queue = config.name
        self._target = config.dead_letter_queue
        self._entries = entries
        self._settlements = settlements
        self._retry_ns = retry_ns
        self._given_up: deque[tuple[int, int, str]] = deque()
        self._under_way: dict[tuple[Interval, ...], str] = {}
        self.retry_at: Instant | None = None
        self.messages = 0

    def give_up(self, low: int, high: int, reason: str) -> None:
        """Give rows up: they become dead letters, or are settled if there is no queue for them."""
        self.messages += high - low
        if self._target:
            self._given_up.append((low, high, reason))
        else:
            self._settlements.settle(low, high)

    def send(self, now: Instant, letters: list[DeadLetter]) -> int | None:
        """Append letters about the rows given up; returns a position whose body is needed first."""
        if self.retry_at is not None and now < self.retry_at:
            return None
        self.retry_at = None
        while self._given_up:
            low, high, reason = self._given_up[0]
            entry = self._entries.find(low)
            assert entry is not None, f"row {low} was given up and does not exist"
            if entry.frame is None:
                return low
            cut = min(high, entry.high)
            if cut < high:
                self._given_up[0] = (cut, high, reason)
            else:
                self._given_up.popleft()
            intervals = ((low, cut),)
            self._under_way[intervals] = reason
            batch = self._body(entry, low, cut, reason)
            letters.append(DeadLetter(self._queue, self._target, intervals, batch))
        return None

    def _body(self, entry: Entry, low: int, high: int, reason: str) -> Batch:
        assert entry.frame is not None
        batch = entry.frame.slice(low, high).batch
        about = {"dead_letter_queue": self._queue, "dead_letter_reason": reason}
        rows = zip(batch.attribute_rows(), batch.payload_rows(), strict=True)
        return Batch.from_rows([({**attributes, **about}, payload) for attributes, payload in rows])

    def buried(self, intervals: tuple[Interval, ...], failure: str, now: Instant) -> None:
        """The dead-letter queue has stored a letter, or refused it for now."""
        reason = self._under_way.pop(intervals)
        if failure:
            self._given_up.extendleft((low, high, reason) for low, high in intervals)
            self.retry_at = now + self._retry_ns
            return
        for low, high in intervals:
            self._settlements.settle(low, high)

    def lose(self, entry: Entry) -> list[Interval]:
        """Drop the rows of an entry whose body cannot be read; returns those that waited here."""
        lost: list[Interval] = []
        for each in [each for each in self._given_up if entry.low <= each[0] < entry.high]:
            low, high, reason = each
            self._given_up.remove(each)
            lost.append((low, min(high, entry.high)))
            if high > entry.high:
                self._given_up.appendleft((entry.high, high, reason))
        return lost
