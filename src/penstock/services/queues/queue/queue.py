"""A queue: durable messages, each of which goes to exactly one of its consumers.

1. Rows are stored before the sender gets its receipt, and before any consumer receives them.
2. A consumer gets messages up to the credit that it granted, and keeps them until it settles them
   or its connection breaks; what it did not settle is redelivered to another, marked as such.
3. A settlement counts when it is durable.
4. Rows that an alias queue forwarded are prepared until it has decided (``queue/forwarded``).
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.clock import Instant, earliest
from penstock.core.intervals import Interval
from penstock.core.machine import Effect, InvariantBroken, LinkName, LogRead, PersistFailed
from penstock.mechanisms.rate_meter import WindowRateMeter
from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.context import QueueContext
from penstock.services.queues.durable_queue import DurableQueue
from penstock.services.queues.log.append import AppendAnswer, entry_of
from penstock.services.queues.log.settlements import Settlements
from penstock.services.queues.messages import (
    DEFAULT_PRIORITY,
    Browse,
    DeadLetter,
    Decision,
    Forward,
    HandOver,
    LetterBuried,
    LoadAnswer,
    LoadQuestion,
    Monitor,
    MonitorReport,
    Receive,
    Remembered,
    RowsEntry,
    SettlementEntry,
)
from penstock.services.queues.parameters import QueueConfig
from penstock.services.queues.queue.browse import Browser
from penstock.services.queues.queue.busy_clock import BusyClock
from penstock.services.queues.queue.consumer_requests import ConsumerRequests, FromConsumer
from penstock.services.queues.queue.consumers import Consumers
from penstock.services.queues.queue.dead_letters import DeadLetters
from penstock.services.queues.queue.dispatch import Dispatcher
from penstock.services.queues.queue.forwarded import ForwardedRows
from penstock.services.queues.queue.reports import DueReport, Reports
from penstock.services.queues.queue.retained_handovers import RetainedHandovers
from penstock.services.queues.queue.rows import QueueRows
from penstock.services.queues.queue.senders import (
    AliasSender,
    HandoverSender,
    LetterSender,
    Sender,
)
from penstock.services.queues.routing import SendToBroker, SendWithinBroker


class Queue(DurableQueue):
    """The machine of one queue, at the broker that hosts it."""

    def __init__(self, config: QueueConfig, context: QueueContext) -> None:
        super().__init__(config, f"queue/{config.name}", context)
        now, parameters = context.now, context.parameters
        self.consumers = Consumers()
        self.consumed = WindowRateMeter(now)
        self._settlements = Settlements(
            self.journal, parameters.store_retry_ns, parameters.piggyback_ns
        )
        self.dead_letters = DeadLetters(
            config, self.entries, self._settlements, parameters.store_retry_ns
        )
        self.rows = QueueRows(
            config, self.entries, self.consumers, self._settlements, self.dead_letters
        )
        self.ready, self.prepared = self.rows.ready, self.rows.prepared
        self.retained = RetainedHandovers()
        self._dispatcher = Dispatcher(
            self.entries, self.ready, self.prepared, self.consumers, self.rows.attempts
        )
        self._consumer_requests = ConsumerRequests(
            config.name, self.consumers, self.rows, self._settlements, self.consumed, parameters
        )
        self._browser = Browser(self.journal, self.entries, self.ready)
        self._forwarded = ForwardedRows(
            context.broker,
            config.name,
            self.journal,
            self._appender,
            self.rows,
            self._settlements,
            parameters,
        )
        self._reports = Reports()
        self._epoch = now
        self._busy = BusyClock(now)
        self._recoveries[SettlementEntry] = self.rows.recover_note
        self._requests[Forward] = self._store_forwarded
        self._requests[DeadLetter] = self._store_letter
        self._answers[AliasSender] = self._forwarded.answer
        self._answers[HandoverSender] = self._forwarded.answer_handover
        self._answers[LetterSender] = self._answer_letter
        self._messages = {
            Forward: self._request,
            Decision: self._decision,
            Monitor: self._monitor,
            LoadQuestion: self._tell_load,
            HandOver: self._hand_over,
            Remembered: self._remembered,
            DeadLetter: self._request,
            LetterBuried: self._letter_buried,
        }

    # -- recovery ---------------------------------------------------------------------------

    def _recover_rows(self, rows: RowsEntry) -> None:
        if rows.producer:
            self.entries.add(entry_of(rows, recovered=True))
            self.retained.recover(rows)
        else:
            super()._recover_rows(rows)

    def _place_recovered(self) -> None:
        self.rows.place_recovered()

    def _resume(self, now: Instant, out: list[Effect]) -> None:
        self._forwarded.ask_all(now, out)

    def _lose(self, lost: Iterable[Interval]) -> None:
        self.rows.lose(lost)

    # -- rows of other queues ---------------------------------------------------------------

    def _store_forwarded(self, message: Forward, now: Instant, out: list[Effect]) -> None:
        batch = message.frame.batch
        problem = self._admission.no_room(len(batch), batch.wire_size, now)
        self._forwarded.store(message, problem, out)
        self._give_answers(now, out)

    def _decision(self, message: Decision, now: Instant, out: list[Effect]) -> None:
        """An alias queue has decided on prepared rows; it repeats this if it comes too early."""
        if self.journal.ready:
            self.received.add(self._forwarded.decide(message, now, out), now)
            self._step(now, out)

    def routes_gained(self, now: Instant, out: list[Effect]) -> None:
        """Further brokers can be reached: ask the alias queues there for their decisions."""
        self._forwarded.ask_all(now, out)

    def _hand_over(self, message: HandOver, now: Instant, out: list[Effect]) -> None:
        """Store rows of an alias queue of this broker, which started after the journal was read."""
        problem = self._admission.no_room(len(message.batch), message.batch.wire_size, now)
        self._forwarded.store_handover(message, problem, out)

    def take_recovered_handovers(self) -> dict[str, list[OriginRange]]:
        """The producers' numbers that a restart has read, by alias queue of this broker."""
        return self.retained.take_recovered()

    def _remembered(self, message: Remembered, now: Instant, out: list[Effect]) -> None:
        self.retained.release(message.alias, message.below)

    # -- dead letters -----------------------------------------------------------------------

    def _store_letter(self, letter: DeadLetter, now: Instant, out: list[Effect]) -> None:
        """Store rows that another queue of this broker gave up."""
        sender = LetterSender(letter.queue, letter.intervals)
        first = letter.intervals[0][0]
        answer, entries = self._appender.admit(
            sender, sender.origin, first, letter.batch, priority=DEFAULT_PRIORITY
        )
        for entry in entries:
            self._appender.append(entry, answer, out)
        self._give_answers(now, out)

    def _answer_letter(
        self,
        sender: LetterSender,
        answer: AppendAnswer[Sender],
        now: Instant,
        out: list[Effect],
    ) -> None:
        if not answer.uncertain:
            # With an uncertain answer the letter may be stored: after a restart it is offered
            # again, and recognised as a repeat if it is.
            buried = LetterBuried(sender.queue, sender.intervals, answer.failure)
            out.append(SendWithinBroker(buried))

    def _letter_buried(self, message: LetterBuried, now: Instant, out: list[Effect]) -> None:
        self.dead_letters.buried(message.intervals, message.failure, now)
        self._step(now, out)

    # -- monitoring -------------------------------------------------------------------------

    def _monitor(self, message: Monitor, now: Instant, out: list[Effect]) -> None:
        self._report(self._reports.asked(message, now), now, out)

    def _report(self, due: list[DueReport], now: Instant, out: list[Effect]) -> None:
        for watcher, iteration in due:
            report = MonitorReport(
                self._broker,
                watcher.broker,
                watcher.alias,
                self.name,
                iteration=iteration,
                epoch=self._epoch,
                at=now,
                load=self.entries.rows,
                consumed=self.consumed.total,
                busy_ns=self._busy.total_ns(now),
                consumers=len(self.consumers),
                watchers=len(self._reports),
            )
            out.append(SendToBroker(report))

    @property
    def owned_rows(self) -> int:
        """The unsettled rows without prepared ones, which an alias queue still counts."""
        return self.entries.rows - self.prepared.rows

    def _tell_load(self, message: LoadQuestion, now: Instant, out: list[Effect]) -> None:
        answer = LoadAnswer(
            self._broker,
            message.source,
            message.alias,
            self.name,
            self.owned_rows,
            len(self.consumers),
            self.consumers.mean_msgs_per_s,
        )
        out.append(SendToBroker(answer))

    # -- consumers --------------------------------------------------------------------------

    def receive(self, session: LinkName, message: Receive, now: Instant, out: list[Effect]) -> bool:
        """Add a consumer; False if it was refused."""
        if not self._consumer_requests.receive(session, message, out):
            return False
        if len(self.consumers) == 1:
            self._report(self._reports.to_all(), now, out)
        self._step(now, out)
        return True

    def from_consumer(
        self, session: LinkName, message: FromConsumer, now: Instant, out: list[Effect]
    ) -> None:
        """Take a message of a consumer."""
        before = len(self.consumers)
        if self._consumer_requests.handle(session, message, now, out):
            self._consumers_changed(before, now, out)

    def session_closed(self, session: LinkName, now: Instant, out: list[Effect]) -> None:
        """A connection broke, and its consumers are gone."""
        before = len(self.consumers)
        if self._consumer_requests.session_closed(session, now):
            self._consumers_changed(before, now, out)

    def _consumers_changed(self, before: int, now: Instant, out: list[Effect]) -> None:
        if before and not len(self.consumers):
            self._report(self._reports.to_all(), now, out)
        self._step(now, out)

    # -- browsing and purging ---------------------------------------------------------------

    def browse(self, session: LinkName, message: Browse, out: list[Effect]) -> None:
        """Show waiting messages."""
        self._browser.browse(session, message, out)

    def log_read(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        if not self._browser.read(fact, out):
            super().log_read(fact, now, out)

    def purge(self, now: Instant, out: list[Effect]) -> int:
        count = self.rows.purge()
        self._step(now, out)
        return count

    # -- durable rows -----------------------------------------------------------------------

    def _arrived(self, rows: RowsEntry, now: Instant, out: list[Effect]) -> None:
        self.rows.arrived(rows)
        if rows.producer:
            self.retained.add(rows)
        self.received.add(0 if rows.in_doubt else len(rows.frame), now)

    def _note_resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        self.rows.settled(self._settlements.resolved(token, failure, now, out))

    def _step(self, now: Instant, out: list[Effect]) -> None:
        """Send dead letters, dispatch rows to consumers, and write what was settled."""
        letters: list[DeadLetter] = []
        needed = self.dead_letters.send(now, letters)
        out.extend(SendWithinBroker(letter) for letter in letters)
        wanted = self._dispatcher.dispatch(now, out)
        needed = wanted if needed is None else needed
        if needed is not None:
            self._bodies.need(needed, out)
        self._settlements.flush(out)
        self._forwarded.collect_durable(now)
        self._busy.set(self.owned_rows > 0, now)

    # -- time -------------------------------------------------------------------------------

    def _due(self, now: Instant, out: list[Effect]) -> None:
        self.rows.expire(now)
        self._settlements.deadline(now, out)
        self._report(self._reports.due(now), now, out)
        self._forwarded.deadline(now, out)

    def _next_due(self) -> Instant | None:
        return earliest(
            self._settlements.next_deadline(),
            self.dead_letters.retry_at,
            self.rows.next_expiry(),
            self._forwarded.next_deadline(),
            self._reports.next_deadline(),
        )

    def _trim(self, out: list[Effect]) -> None:
        needed = [each for each in (self.entries.lowest, self.retained.lowest) if each is not None]
        self.journal.trim(min(needed, default=None), out)

    # -- looking in -------------------------------------------------------------------------

    def explain(self, now: Instant) -> str:
        return f"it has {len(self.consumers)} consumers"

    def check_invariants(self) -> None:
        """No row is in two places."""
        problem = self.rows.problem()
        if problem:
            raise InvariantBroken(f"queue {self.name}: {problem}")
