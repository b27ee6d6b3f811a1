"""Rows that alias queues forwarded to a queue: taken in, asked about, decided.

The destination's half of the forwarding transaction; penstock.queues.doubt says what it keeps, and
penstock.queues.decisions is the other half.
"""

from __future__ import annotations

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect, Priority, Send
from penstock.queues.intake import Answer, Intake
from penstock.queues.messages import Decision, Forward, ForwardRefused, Resolved, Stored
from penstock.queues.queue_rows import QueueRows
from penstock.queues.senders import ROUTE, AliasSender, Sender


class ForwardedRows:
    """What one queue has to do with alias queues, apart from monitoring."""

    def __init__(
        self, broker: str, rows: QueueRows, intake: Intake[Sender], repeat_ns: Duration
    ) -> None:
        """An unanswered question is repeated after ``repeat_ns``."""
        self._broker = broker
        self._queue = rows.config.name
        self._rows = rows
        self._intake = intake
        self._repeat_ns = repeat_ns
        self.ask_again_at: Instant | None = None

    def take(self, message: Forward, out: list[Effect]) -> None:
        """Rows of an alias queue, to be held in doubt."""
        sender = AliasSender(message.source, message.alias)
        self._rows.journal.origins.raise_floor(sender.origin, message.floor)
        self._intake.take(
            sender,
            sender.origin,
            int(message.frame.ticks[0]),
            message.frame.batch,
            out,
            priority=message.priority,
            expires_at=message.expires_at,
            in_doubt=True,
        )

    def answer(
        self, sender: AliasSender, answer: Answer[Sender], now: Instant, out: list[Effect]
    ) -> None:
        """Forwarded rows are durable, or were refused."""
        low, high = answer.first_sequence, answer.first_sequence + answer.count
        if answer.failure:
            refused = ForwardRefused(
                self._broker,
                sender.broker,
                sender.alias,
                self._queue,
                ((low, high),),
                answer.failure,
            )
            out.append(Send(ROUTE, refused, Priority.CONTROL))
            return
        held = IntervalSet(self._rows.doubt.intervals((sender.broker, sender.alias)))
        self._ask(sender.broker, sender.alias, tuple(held.within(low, high)), out)
        if self.ask_again_at is None:
            self.ask_again_at = now + self._repeat_ns

    def _ask(
        self, broker: str, alias: str, intervals: tuple[Interval, ...], out: list[Effect]
    ) -> None:
        if intervals:
            stored = Stored(self._broker, broker, alias, self._queue, intervals)
            out.append(Send(ROUTE, stored, Priority.CONTROL))

    def ask_all(self, now: Instant, out: list[Effect]) -> None:
        """Ask for every decision that is owed."""
        doubt = self._rows.doubt
        for broker, alias in doubt.aliases():
            self._ask(broker, alias, doubt.intervals((broker, alias)), out)
        self.ask_again_at = now + self._repeat_ns if doubt.rows else None

    def decide(self, message: Decision) -> int:
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
        resolved = Resolved(self._broker, message.source, message.alias, self._queue, decided)
        rows.settlements.tell(Send(ROUTE, resolved, Priority.CONTROL))
        return count

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Repeat what was not answered."""
        if self.ask_again_at is not None and now >= self.ask_again_at:
            self.ask_all(now, out)
