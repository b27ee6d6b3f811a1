"""What became of rows, on its way to the journal.

1. An acknowledgement counts when it is durable.  One note is under way at a time; whatever is
   settled meanwhile goes into the next one, so the faster consumers are, the more one note says.
2. A note that the store refuses is written again later: until then nobody is told anything.
3. That rows are not in doubt any more has no note of its own: it goes with the next note that must
   be written, and alone only if there is none for a while.  A crash before that leaves the rows in
   doubt, and the alias queue, which has not heard that we know, answers as it did.
"""

from __future__ import annotations

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Interval
from penstock.core.machine import Effect, PersistFailed, Send
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import SettlementEntry
from penstock.services.queues.queue.prepared import AliasKey


class _Note:
    """What one note says, and what may be said once it is durable."""

    __slots__ = ("attempts", "committed", "decided", "settled", "told")

    def __init__(self) -> None:
        self.settled: list[Interval] = []
        self.attempts: list[tuple[int, int, int]] = []
        self.committed: list[Interval] = []
        self.told: list[Send] = []
        self.decided: list[tuple[AliasKey, tuple[Interval, ...]]] = []

    @property
    def cannot_wait(self) -> bool:
        return bool(self.settled or self.attempts)


class Settlements:
    """The notes of one queue."""

    def __init__(self, journal: Journal, retry_ns: Duration, company_ns: Duration) -> None:
        """Nothing was settled yet; what can wait for company does so for ``company_ns``."""
        self._journal = journal
        self._retry_ns = retry_ns
        self._company_ns = company_ns
        self._next = _Note()
        self._under_way = _Note()
        self._token: int | None = None
        self._waited = False
        self._durable: list[tuple[AliasKey, tuple[Interval, ...]]] = []
        self.retry_at: Instant | None = None
        self.write_at: Instant | None = None

    def settle(self, low: int, high: int) -> None:
        """These rows are done with."""
        self._next.settled.append((low, high))

    def attempted(self, low: int, high: int, attempts: int) -> None:
        """These rows were handed out so often in vain."""
        self._next.attempts.append((low, high, attempts))

    def commit(self, low: int, high: int) -> None:
        """These rows are not in doubt any more."""
        self._next.committed.append((low, high))

    def decided(self, alias: AliasKey, numbers: tuple[Interval, ...], now: Instant) -> None:
        """An alias queue has decided on these numbers of its, and may hear when that is durable."""
        self._next.decided.append((alias, numbers))
        if self.write_at is None and not self._waited:
            self.write_at = now + self._company_ns

    def tell(self, answer: Send) -> None:
        """Say this when everything that was settled up to here is durable."""
        self._next.told.append(answer)

    def flush(self, out: list[Effect]) -> None:
        """Write down what there is, unless a note is under way."""
        if self._token is not None or self.retry_at is not None:
            return
        note = self._next
        if note.cannot_wait or (self._waited and note.committed):
            self._under_way, self._next = note, _Note()
            self._company_came()
            self._write(out)
            return
        if note.told:
            out.extend(note.told)
            note.told = []
        if self._waited:
            # Decisions that were heard before: the note that they are about is durable.
            self._durable += note.decided
            note.decided = []
            self._company_came()

    def _company_came(self) -> None:
        self._waited = False
        self.write_at = None

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
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
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
        self._durable += note.decided
        return note.settled

    def take_durable(self) -> list[tuple[AliasKey, tuple[Interval, ...]]]:
        """The decisions that are written down since this was last asked."""
        durable, self._durable = self._durable, []
        return durable

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Write a refused note again, and what has waited for company in vain."""
        if self.retry_at is not None and now >= self.retry_at:
            self.retry_at = None
            self._write(out)
        if self.write_at is not None and now >= self.write_at:
            self.write_at = None
            self._waited = True
