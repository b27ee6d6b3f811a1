"""Rows that alias queues forwarded to a queue: taken in, asked about, decided.

The destination's half of the forwarding transaction; ``queue/prepared`` says what it keeps, and
``alias/decisions`` is the other half.  Rows of an alias queue of the same broker are not in
doubt (penstock.services.queues.alias.handover).

1. One question to an alias queue is under way at a time; what is stored meanwhile goes into the
   next.  The busier both sides are, the more rows share a question, a note and a decision.
2. A question waits until it is about half of what the alias queue sent us and has not decided:
   while that half is decided the other half arrives, so that neither side waits for the other.  A
   single row is all there is, and is asked about at once; what stays away is waited for only for a
   moment.
3. That a decision is carried out and durable is nothing that anybody waits for: it goes with the
   next question, and alone only if there is none for a while.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, Instant, earliest
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect, Priority, Send
from penstock.services.queues.log.append import Answer, Intake
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
from penstock.services.queues.queue.senders import (
    HANDOVERS,
    ROUTE,
    AliasSender,
    HandoverSender,
    Sender,
)

HALF_WITHIN_NS: Final = 8 * MILLISECOND
"""How long a question waits for its half at most: two syncs of a busy disk (3 to 4 ms each), which
is what rows that are under way already need to arrive."""


class ForwardedRows:
    """What one queue has to do with alias queues, apart from monitoring."""

    def __init__(
        self, broker: str, rows: QueueRows, intake: Intake[Sender], parameters: QueueParameters
    ) -> None:
        """Nothing was forwarded yet."""
        self._broker = broker
        self._queue = rows.config.name
        self._rows = rows
        self._intake = intake
        self._repeat_ns = parameters.repeat_ns
        self._company_ns = parameters.company_ns
        self._ask_again_at: Instant | None = None
        self._ask_at: Instant | None = None
        self._confirm_at: Instant | None = None
        self._unasked: dict[AliasKey, IntervalSet] = {}
        self._under_way: dict[AliasKey, int] = {}
        """Rows that an alias queue had sent us and not decided when it last sent some, less those
        that were asked about since."""
        self._asked: dict[AliasKey, None] = {}
        """The alias queues to which a question is under way."""
        self._unconfirmed: dict[AliasKey, IntervalSet] = {}

    def take(self, message: Forward, problem: str, out: list[Effect]) -> None:
        """Rows of an alias queue, to be held in doubt; ``problem`` says that there is no room."""
        sender = AliasSender(message.source, message.alias)
        origins, ticks = self._rows.journal.origins, message.frame.ticks
        origins.raise_floor(sender.origin, message.floor)
        self._under_way[message.source, message.alias] = message.under_way
        low, high = int(ticks[0]), int(ticks[-1]) + 1
        if problem and origins.new_numbers(sender.origin, low, high - low):
            # A repeat needs no room: its sender wants to hear again what became of it.
            self._refuse(sender, low, high, problem, out)
            return
        self._intake.take(
            sender,
            sender.origin,
            low,
            message.frame.batch,
            out,
            priority=message.priority,
            expires_at=message.expires_at,
            in_doubt=True,
        )

    def hand_over(self, message: HandOver, problem: str, out: list[Effect]) -> None:
        """Rows of an alias queue of this broker: the queue's own as soon as they are stored."""
        sender = HandoverSender(message.alias, message.low)
        if problem:
            count = len(message.batch)
            out.append(
                Send(HANDOVERS, HandedOver(message.alias, self._queue, message.low, count, problem))
            )
            return
        entry = RowsEntry(
            self._rows.journal.place(message.batch),
            sender.origin,
            message.low,
            message.priority,
            message.expires_at,
            producer=message.producer,
            producer_sequence=message.first_sequence,
        )
        self._intake.take_unnumbered(sender, entry, out)

    def handed_over(
        self, sender: HandoverSender, answer: Answer[Sender], out: list[Effect]
    ) -> None:
        """They are durable, were refused, or nobody knows."""
        told = HandedOver(
            sender.alias, self._queue, sender.low, answer.count, answer.failure, answer.uncertain
        )
        out.append(Send(HANDOVERS, told))

    def answer(
        self, sender: AliasSender, answer: Answer[Sender], now: Instant, out: list[Effect]
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

    def _ask_if_due(self, key: AliasKey, now: Instant, out: list[Effect]) -> None:
        """Ask about what has come since the last question, if it is answered and this is half."""
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
        # Some of it may be decided: it was a repeat.
        self._ask(key, self._rows.doubt.within(key, unasked), out)

    def _refuse(
        self, sender: AliasSender, low: int, high: int, reason: str, out: list[Effect]
    ) -> None:
        back, alias = sender.broker, sender.alias
        refused = ForwardRefused(self._broker, back, alias, self._queue, ((low, high),), reason)
        out.append(Send(ROUTE, refused, Priority.CONTROL))

    def _ask(self, key: AliasKey, intervals: tuple[Interval, ...], out: list[Effect]) -> None:
        if intervals:
            self._asked[key] = None
            resolved = tuple(self._unconfirmed.pop(key, ()))
            stored = Stored(self._broker, *key, self._queue, intervals, resolved)
            out.append(Send(ROUTE, stored, Priority.CONTROL))

    def ask_all(self, now: Instant, out: list[Effect]) -> None:
        """Ask for every decision that is owed."""
        doubt = self._rows.doubt
        self._ask_at = None
        self._unasked.clear()
        self._under_way.clear()
        self._asked.clear()
        for key in doubt.aliases():
            self._ask(key, doubt.intervals(key), out)
        self._ask_again_at = now + self._repeat_ns if doubt.rows else None

    def decide(self, message: Decision, now: Instant, out: list[Effect]) -> int:
        """The alias queue's word; how many rows are this queue's now.

        The alias queue hears that it was carried out when that is durable.
        """
        key = (message.source, message.alias)
        rows = self._rows
        count = 0
        for low, high in message.committed:
            for part in rows.doubt.take(key, low, high):
                count += part[1] - part[0]
                rows.committed(*part)
        for low, high in message.withdrawn:
            rows.settle(rows.doubt.take(key, low, high))
        decided = (*message.committed, *message.withdrawn)
        rows.settlements.decided(key, decided, now)
        self._asked.pop(key, None)
        self._ask_if_due(key, now, out)
        return count

    def note_durable(self, now: Instant) -> None:
        """A note became durable, and with it perhaps decisions that the next question confirms."""
        for key, intervals in self._rows.settlements.take_durable():
            unconfirmed = self._unconfirmed.setdefault(key, IntervalSet())
            for low, high in intervals:
                unconfirmed.add(low, high)
            if self._confirm_at is None:
                self._confirm_at = now + self._company_ns

    def _confirm(self, out: list[Effect]) -> None:
        """Confirm what no question came for."""
        self._confirm_at = None
        unconfirmed, self._unconfirmed = self._unconfirmed, {}
        for key, intervals in unconfirmed.items():
            resolved = Resolved(self._broker, *key, self._queue, tuple(intervals))
            out.append(Send(ROUTE, resolved, Priority.CONTROL))

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Ask and confirm what waited for company, and ask again what was not answered."""
        if self._ask_again_at is not None and now >= self._ask_again_at:
            self.ask_all(now, out)
        elif self._ask_at is not None and now >= self._ask_at:
            self._ask_at = None
            for key in [each for each in self._unasked if each not in self._asked]:
                self._ask_new(key, out)
        if self._confirm_at is not None and now >= self._confirm_at:
            self._confirm(out)

    def next_deadline(self) -> Instant | None:
        """When one of these is due."""
        return earliest(self._ask_at, self._ask_again_at, self._confirm_at)
