"""What became of rows, on its way to the journal.

An acknowledgement counts when it is durable.  One note is under way at a time; whatever is settled
meanwhile goes into the next one, so the faster consumers are, the more one note says.  A note that
the store refuses is written again later: until then nobody is told anything.
"""

from __future__ import annotations

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Interval
from penstock.core.machine import Effect, Send
from penstock.queues.journal import Journal
from penstock.queues.messages import SettlementEntry


class _Note:
    """What one note says, and what may be said once it is durable."""

    __slots__ = ("attempts", "committed", "settled", "told")

    def __init__(self) -> None:
        self.settled: list[Interval] = []
        self.attempts: list[tuple[int, int, int]] = []
        self.committed: list[Interval] = []
        self.told: list[Send] = []

    @property
    def says_something(self) -> bool:
        return bool(self.settled or self.attempts or self.committed)


class Settlements:
    """The notes of one queue."""

    def __init__(self, journal: Journal, retry_ns: Duration) -> None:
        """Nothing was settled yet."""
        self._journal = journal
        self._retry_ns = retry_ns
        self._next = _Note()
        self._under_way = _Note()
        self._token: int | None = None
        self.retry_at: Instant | None = None

    def settle(self, low: int, high: int) -> None:
        """These rows are done with."""
        self._next.settled.append((low, high))

    def attempted(self, low: int, high: int, attempts: int) -> None:
        """These rows were handed out so often in vain."""
        self._next.attempts.append((low, high, attempts))

    def commit(self, low: int, high: int) -> None:
        """These rows are not in doubt any more."""
        self._next.committed.append((low, high))

    def tell(self, answer: Send) -> None:
        """Say this when everything up to here is durable."""
        self._next.told.append(answer)

    def flush(self, out: list[Effect]) -> None:
        """Write down what there is, unless a note is under way."""
        if self._token is not None or self.retry_at is not None:
            return
        if self._next.says_something:
            self._under_way, self._next = self._next, _Note()
            self._write(out)
        elif self._next.told:
            out.extend(self._next.told)
            self._next.told = []

    def _write(self, out: list[Effect]) -> None:
        note = self._under_way
        entry = SettlementEntry(
            self._journal.note(),
            tuple(note.settled),
            tuple(note.attempts),
            tuple(note.committed),
        )
        self._token = self._journal.append(entry, out)

    def resolved(
        self, token: int, failure: str, now: Instant, out: list[Effect]
    ) -> list[Interval] | None:
        """The rows that are settled for good; None if this was not a note of ours."""
        if token != self._token:
            return None
        self._token = None
        if failure:
            self.retry_at = now + self._retry_ns
            return []
        note, self._under_way = self._under_way, _Note()
        out.extend(note.told)
        return note.settled

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Write a refused note again."""
        if self.retry_at is not None and now >= self.retry_at:
            self.retry_at = None
            self._write(out)
