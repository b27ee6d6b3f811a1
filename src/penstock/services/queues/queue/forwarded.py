"""The destination's half of the forwarding transaction: stores rows and carries out decisions.

``queue/prepared`` keeps the rows without a decision, and ``alias/transaction`` is the other half.
Rows of an alias queue of the same broker need no decision (``alias/handover``).

1. One question to an alias queue is under way at a time; rows that are stored meanwhile go into the
   next.  The busier both sides are, the more rows share a question, a note and a decision.
2. A question waits until it covers half of the rows that the alias queue has sent and not decided:
   while that half is decided the other half arrives, so that neither side waits for the other.  A
   single row is all that was sent, so the question about it is sent at once.  Rows that do not
   arrive delay a question for ``HALF_WITHIN_NS`` at most.
3. The confirmation that a decision is carried out is not urgent: it goes with the next question,
   and in a message of its own only if there is no question for ``piggyback_ns``.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, Instant, earliest
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect
from penstock.services.queues.log.append import AppendAnswer, Appender
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.log.settlements import Settlements
from penstock.services.queues.messages import (
    Decision,
    Forward,
    ForwardRefused,
    HandedOver,
    HandOver,
    Resolved,
    RowsEntry,
    Stored,
)
from penstock.services.queues.parameters import QueueParameters
from penstock.services.queues.queue.prepared import AliasKey
from penstock.services.queues.queue.rows import QueueRows
from penstock.services.queues.queue.senders import AliasSender, HandoverSender, Sender
from penstock.services.queues.routing import SendToBroker, SendWithinBroker

HALF_WITHIN_NS: Final = 8 * MILLISECOND
"""How long a question waits for its half at most: two syncs of a busy disk (3 to 4 ms each), in
which rows that are under way arrive."""


class ForwardedRows:
    """What one queue does for alias queues, apart from monitoring."""

    def __init__(
        self,
        broker: str,
        queue: str,
        journal: Journal,
        appender: Appender[Sender],
        rows: QueueRows,
        settlements: Settlements,
        parameters: QueueParameters,
    ) -> None:
        self._broker = broker
        self._queue = queue
        self._journal = journal
        self._appender = appender
        self._rows = rows
        self._prepared = rows.prepared
        self._settlements = settlements
        self._repeat_ns = parameters.repeat_ns
        self._piggyback_ns = parameters.piggyback_ns
        self._ask_again_at: Instant | None = None
        self._ask_at: Instant | None = None
        self._confirm_at: Instant | None = None
        self._unasked: dict[AliasKey, IntervalSet] = {}
        self._under_way: dict[AliasKey, int] = {}
        """Rows that an alias queue had sent and not decided when it last sent some, less those
        that a question covered since."""
        self._asked: dict[AliasKey, None] = {}
        """The alias queues to which a question is under way."""
        self._unconfirmed: dict[AliasKey, IntervalSet] = {}

    # -- storing ----------------------------------------------------------------------------

    def store(self, message: Forward, problem: str, out: list[Effect]) -> None:
        """Store rows of an alias queue as prepared; ``problem`` says why there is no room."""
        sender = AliasSender(message.source, message.alias)
        origins, ticks = self._journal.origins, message.frame.ticks
        origins.raise_floor(sender.origin, message.floor)
        self._under_way[message.source, message.alias] = message.under_way
        low, high = int(ticks[0]), int(ticks[-1]) + 1
        if problem and origins.new_numbers(sender.origin, low, high - low):
            # A repeat needs no room: the alias queue wants the answer again.
            self._refuse(sender, low, high, problem, out)
            return
        answer, entries = self._appender.admit(
            sender,
            sender.origin,
            low,
            message.frame.batch,
            priority=message.priority,
            expires_at=message.expires_at,
            prepared=True,
        )
        for entry in entries:
            self._appender.append(entry, answer, out)

    def answer(
        self,
        sender: AliasSender,
        answer: AppendAnswer[Sender],
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Forwarded rows are durable, or were refused."""
        low, high = answer.first_sequence, answer.first_sequence + answer.count
        if answer.failure:
            self._refuse(sender, low, high, answer.failure, out)
            return
        key = (sender.broker, sender.alias)
        self._unasked.setdefault(key, IntervalSet()).add(low, high)
        self._ask_if_due(key, now, out)
        if self._ask_again_at is None:
            self._ask_again_at = now + self._repeat_ns

    def _refuse(
        self, sender: AliasSender, low: int, high: int, reason: str, out: list[Effect]
    ) -> None:
        back, alias = sender.broker, sender.alias
        refused = ForwardRefused(self._broker, back, alias, self._queue, ((low, high),), reason)
        out.append(SendToBroker(refused))

    # -- rows handed over within the broker -------------------------------------------------

    def store_handover(self, message: HandOver, problem: str, out: list[Effect]) -> None:
        """Store rows of an alias queue of this broker: they belong to the queue at once."""
        sender = HandoverSender(message.alias, message.low)
        if problem:
            count = len(message.batch)
            refusal = HandedOver(message.alias, self._queue, message.low, count, problem)
            out.append(SendWithinBroker(refusal))
            return
        entry = RowsEntry(
            self._journal.place(message.batch),
            sender.origin,
            message.low,
            message.priority,
            message.expires_at,
            producer=message.producer,
            producer_sequence=message.first_sequence,
        )
        self._appender.append_unnumbered(sender, entry, out)

    def answer_handover(
        self,
        sender: HandoverSender,
        answer: AppendAnswer[Sender],
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Rows that were handed over are durable, were refused, or may be durable."""
        handed = HandedOver(
            sender.alias, self._queue, sender.low, answer.count, answer.failure, answer.uncertain
        )
        out.append(SendWithinBroker(handed))

    # -- questions --------------------------------------------------------------------------

    def _ask_if_due(self, key: AliasKey, now: Instant, out: list[Effect]) -> None:
        """Ask about new rows if the last question was answered and they are half (rule 2)."""
        unasked = self._unasked.get(key)
        if unasked is None or key in self._asked:
            return
        if 2 * unasked.span >= self._under_way.get(key, 0):
            self._ask_new(key, out)
        elif self._ask_at is None:
            self._ask_at = now + HALF_WITHIN_NS

    def _ask_new(self, key: AliasKey, out: list[Effect]) -> None:
        unasked = self._unasked.pop(key)
        left = self._under_way.pop(key, 0) - unasked.span
        if left > 0:
            self._under_way[key] = left
        # Repeated rows may have been decided already.
        self._ask(key, self._prepared.within(key, unasked), out)

    def _ask(self, key: AliasKey, intervals: tuple[Interval, ...], out: list[Effect]) -> None:
        if intervals:
            self._asked[key] = None
            resolved = tuple(self._unconfirmed.pop(key, ()))
            stored = Stored(self._broker, *key, self._queue, intervals, resolved)
            out.append(SendToBroker(stored))

    def ask_all(self, now: Instant, out: list[Effect]) -> None:
        """Ask for the decision on every prepared row."""
        prepared = self._prepared
        self._ask_at = None
        self._unasked.clear()
        self._under_way.clear()
        self._asked.clear()
        for key in prepared.aliases():
            self._ask(key, prepared.intervals(key), out)
        self._ask_again_at = now + self._repeat_ns if prepared.rows else None

    # -- decisions --------------------------------------------------------------------------

    def decide(self, message: Decision, now: Instant, out: list[Effect]) -> int:
        """Carry out a decision of an alias queue; returns how many rows were committed.

        The alias queue gets the confirmation when that is durable.
        """
        key = (message.source, message.alias)
        count = sum(self._rows.commit(key, low, high) for low, high in message.committed)
        for low, high in message.withdrawn:
            self._rows.withdraw(key, low, high)
        decided = (*message.committed, *message.withdrawn)
        self._settlements.decided(key, decided, now)
        self._asked.pop(key, None)
        self._ask_if_due(key, now, out)
        return count

    def collect_durable(self, now: Instant) -> None:
        """Collect decisions that have become durable, to be confirmed with the next question."""
        for key, intervals in self._settlements.take_durable():
            unconfirmed = self._unconfirmed.setdefault(key, IntervalSet())
            for low, high in intervals:
                unconfirmed.add(low, high)
            if self._confirm_at is None:
                self._confirm_at = now + self._piggyback_ns

    def _confirm(self, out: list[Effect]) -> None:
        """Confirm the decisions for which there was no question."""
        self._confirm_at = None
        unconfirmed, self._unconfirmed = self._unconfirmed, {}
        for key, intervals in unconfirmed.items():
            resolved = Resolved(self._broker, *key, self._queue, tuple(intervals))
            out.append(SendToBroker(resolved))

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Send delayed questions and confirmations, and repeat unanswered questions."""
        if self._ask_again_at is not None and now >= self._ask_again_at:
            self.ask_all(now, out)
        elif self._ask_at is not None and now >= self._ask_at:
            self._ask_at = None
            for key in [each for each in self._unasked if each not in self._asked]:
                self._ask_new(key, out)
        if self._confirm_at is not None and now >= self._confirm_at:
            self._confirm(out)

    def next_deadline(self) -> Instant | None:
        return earliest(self._ask_at, self._ask_again_at, self._confirm_at)
