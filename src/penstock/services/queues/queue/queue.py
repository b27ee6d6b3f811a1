"""A queue: durable messages, each for exactly one of its consumers.

1. What is sent is stored before it is confirmed, and confirmed before anybody receives it.
2. A consumer is handed messages up to the credit that it granted, and keeps them until it settles
   them or its connection is gone; what it did not settle goes to another, marked as redelivered.
3. A settlement counts when it is durable.
4. Rows that an alias queue forwarded wait in doubt for its decision (``queue/forwarded``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse
from penstock.core.clock import Instant, earliest
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import (
    Effect,
    InvariantBroken,
    LinkName,
    LogRead,
    PersistFailed,
    Priority,
    Send,
)
from penstock.core.tokens import Tokens
from penstock.mechanisms.rate_meter import WindowRateMeter
from penstock.services.queues.admission import LONGEST_NAME, Entrance
from penstock.services.queues.log.append import Intake
from penstock.services.queues.messages import (
    DEFAULT_PRIORITY,
    Browse,
    DeadLetter,
    Decision,
    Forward,
    Given,
    HandOver,
    LetterBuried,
    Monitor,
    MonitorReport,
    Receive,
    Receiving,
    ReceivingStopped,
    RowsEntry,
    SendToQueue,
    Settle,
    Settled,
)
from penstock.services.queues.parameters import QueueConfig, QueueParameters
from penstock.services.queues.queue.browse import Browser
from penstock.services.queues.queue.busy_clock import BusyClock
from penstock.services.queues.queue.consumers import Consumer
from penstock.services.queues.queue.dispatch import Dispatcher
from penstock.services.queues.queue.forwarded import ForwardedRows
from penstock.services.queues.queue.reports import Reports
from penstock.services.queues.queue.rows import QueueRows
from penstock.services.queues.queue.senders import (
    LETTERS,
    AliasSender,
    ClientSender,
    HandoverSender,
    LetterSender,
    Sender,
)
from penstock.services.queues.replies import answer_client, client_reply


class Queue:
    """The machine of one queue, at the broker that hosts it."""

    def __init__(
        self,
        broker: str,
        config: QueueConfig,
        parameters: QueueParameters,
        tokens: Tokens,
        *,
        saved: Mapping[str, bytes],
        logs: Mapping[str, tuple[int, int, int]],
        now: Instant,
    ) -> None:
        """``saved`` and ``logs`` are what was found on the disk."""
        self.name = config.name
        self.config = config
        self._broker = broker
        self._parameters = parameters
        self.rows = QueueRows(config, parameters, tokens, saved=saved, logs=logs, now=now)
        self.log = self.rows.journal.log
        self._intake: Intake[Sender] = Intake(self.rows.journal)
        rows = self.rows
        self._dispatcher = Dispatcher(rows.entries, rows.ready, rows.consumers, rows.attempts)
        self.entrance = Entrance(
            broker,
            config,
            parameters,
            rows.journal,
            rows.entries,
            self._intake,
            give_answers=self._give_answers,
            explain=lambda now: f"it has {len(rows.consumers)} consumers",
        )
        self._body_token: int | None = None
        self._browser = Browser(rows)
        self.forwarded = ForwardedRows(broker, rows, self._intake, parameters)
        self._reports = Reports(self._report_of)
        self._epoch = now
        self._busy = BusyClock(now)
        self.received = WindowRateMeter(now)
        self.consumed = WindowRateMeter(now)
        self.delivered_messages = 0

    def start(self, now: Instant, out: list[Effect]) -> None:
        """Read the journal."""
        self.rows.journal.start(out)
        if self.rows.journal.ready:
            self._step(now, out)

    # -- sending ----------------------------------------------------------------------------

    def send(
        self, sender: ClientSender, message: SendToQueue, now: Instant, out: list[Effect]
    ) -> None:
        """A client's rows."""
        self.entrance.send(sender, message, now, out)

    def bury_letter(self, letter: DeadLetter, now: Instant, out: list[Effect]) -> None:
        """Rows that another queue of this broker gave up on."""
        sender = LetterSender(letter.queue, letter.intervals)
        first = letter.intervals[0][0]

        def take(now: Instant, out: list[Effect]) -> None:
            self._intake.take(
                sender, sender.origin, first, letter.batch, out, priority=DEFAULT_PRIORITY
            )
            self._give_answers(now, out)

        self.entrance.when_ready(take, now, out)

    def letter_buried(
        self, intervals: tuple[Interval, ...], failure: str, now: Instant, out: list[Effect]
    ) -> None:
        """The dead-letter queue's answer."""
        self.rows.buried(intervals, failure, now)
        self._step(now, out)

    def _give_answers(self, now: Instant, out: list[Effect]) -> None:
        for answer in self._intake.answers():
            sender = answer.sender
            if isinstance(sender, ClientSender):
                answer_client(sender, client_reply(sender, answer), self._broker, out)
            elif isinstance(sender, AliasSender):
                self.forwarded.answer(sender, answer, now, out)
            elif isinstance(sender, HandoverSender):
                self.forwarded.handed_over(sender, answer, out)
            elif not answer.uncertain:
                # Nobody knows whether the dead-letter queue has it: after a restart it is offered
                # again, and recognised if it is there.
                buried = LetterBuried(sender.queue, sender.intervals, answer.failure)
                out.append(Send(LETTERS, buried))

    # -- forwarded rows ---------------------------------------------------------------------

    def forward(self, message: Forward, now: Instant, out: list[Effect]) -> None:
        """Rows of an alias queue."""

        def take(now: Instant, out: list[Effect]) -> None:
            batch = message.frame.batch
            problem = self.entrance.no_room(len(batch), batch.wire_size, now)
            self.forwarded.take(message, problem, out)
            self._give_answers(now, out)

        self.entrance.when_ready(take, now, out)

    def hand_over(self, message: HandOver, now: Instant, out: list[Effect]) -> None:
        """Rows of an alias queue of this broker, which knows that the journal was read."""
        problem = self.entrance.no_room(len(message.batch), message.batch.wire_size, now)
        self.forwarded.hand_over(message, problem, out)

    def decision(self, message: Decision, now: Instant, out: list[Effect]) -> None:
        """The alias queue's word on rows in doubt; it is repeated if we cannot hear it yet."""
        if self.rows.journal.ready:
            self.received.add(self.forwarded.decide(message, now, out), now)
            self._step(now, out)

    # -- monitoring -------------------------------------------------------------------------

    def monitor(self, message: Monitor, now: Instant, out: list[Effect]) -> None:
        """An alias queue asks how the queue is."""
        self._reports.asked(message, now, out)

    def _report_of(
        self, watcher: AliasSender, iteration: int, watchers: int, now: Instant
    ) -> MonitorReport:
        return MonitorReport(
            self._broker,
            watcher.broker,
            watcher.alias,
            self.name,
            iteration=iteration,
            epoch=self._epoch,
            at=now,
            load=self.rows.entries.rows,
            consumed=self.consumed.total,
            busy_ns=self._busy.total_ns(now),
            consumers=len(self.rows.consumers),
            watchers=watchers,
        )

    # -- consumers --------------------------------------------------------------------------

    def receive(self, session: LinkName, message: Receive, now: Instant, out: list[Effect]) -> bool:
        """A consumer comes; False if it was refused."""
        consumers = self.rows.consumers
        problem, selector = "", None
        try:
            parsed = parse(message.selector)
            selector = None if parsed.matches_everything else parsed
        except SelectorError as error:
            problem = str(error)
        if consumers.get(session, message.consumer) is not None:
            problem = f"consumer {message.consumer!r} exists on this connection already"
        elif len(message.consumer) > LONGEST_NAME:
            problem = f"a consumer's name is longer than {LONGEST_NAME} characters"
        elif len(consumers) >= self._parameters.consumers_per_queue:
            problem = f"queue {self.name!r} has {len(consumers)} consumers, the most allowed"
        elif consumers.count_of_session(session) >= self._parameters.consumers_per_session:
            problem = (
                f"this connection has {self._parameters.consumers_per_session} consumers of queue "
                f"{self.name!r}, the most allowed (consumers_per_session)"
            )
        out.append(Send(session, Receiving(message.consumer, problem), Priority.CONTROL))
        if problem:
            return False
        consumer = Consumer(session, message.consumer, selector)
        consumers.add(consumer)
        consumers.grant(consumer, message.credit, self._parameters.credit_limit)
        if len(consumers) == 1:
            self._reports.tell_all(now, out)
        self._step(now, out)
        return True

    def credit(
        self, session: LinkName, name: str, more: int, now: Instant, out: list[Effect]
    ) -> None:
        """A consumer can take more."""
        consumer = self.rows.consumers.get(session, name)
        if consumer is not None and more > 0:
            self.rows.consumers.grant(consumer, more, self._parameters.credit_limit)
            self._step(now, out)

    def given(self, session: LinkName, message: Given) -> None:
        """A consumer's application has messages in its hands."""
        consumer = self.rows.consumers.get(session, message.consumer)
        if consumer is not None:
            for low, high in message.intervals:
                consumer.give(low, high)

    def settle(self, session: LinkName, message: Settle, now: Instant, out: list[Effect]) -> None:
        """A consumer says what became of its messages."""
        consumer = self.rows.consumers.get(session, message.consumer)
        if consumer is None:
            return
        rows = self.rows
        asked = kept = 0
        outcomes: list[tuple[tuple[Interval, ...], Callable[[list[Interval]], None]]] = [
            (message.accepted, partial(self._accept, now=now)),
            (message.failed, partial(rows.came_back, now=now, counted=True)),
            (message.released, partial(rows.came_back, now=now, counted=False)),
            (message.rejected, partial(rows.reject, reason="rejected by a consumer")),
        ]
        for intervals, outcome in outcomes:
            for low, high in intervals:
                parts = consumer.let_go(low, high)
                asked += high - low
                kept += sum(part_high - part_low for part_low, part_high in parts)
                outcome(parts)
        reply = Settled(message.consumer, message.number, asked - kept)
        rows.settlements.tell(Send(session, reply, Priority.CONTROL))
        self._step(now, out)

    def _accept(self, parts: list[Interval], *, now: Instant) -> None:
        self.rows.settle(parts)
        self.consumed.add(sum(high - low for low, high in parts), now)

    def stop(self, session: LinkName, name: str, now: Instant, out: list[Effect]) -> None:
        """A consumer leaves on purpose: what it holds was not tried."""
        consumer = self.rows.consumers.get(session, name)
        if consumer is not None:
            self.rows.consumers.remove(consumer)
            self.rows.came_back(list(consumer.held), now, counted=False)
        out.append(Send(session, ReceivingStopped(name), Priority.CONTROL))
        self._consumers_left(now, out)

    def session_closed(self, session: LinkName, now: Instant, out: list[Effect]) -> None:
        """A connection is gone, and with it its consumers.

        What their applications had in their hands was tried in vain; the rest was not tried.
        """
        leaving = self.rows.consumers.of_session(session)
        for consumer in leaving:
            self.rows.consumers.remove(consumer)
            given = list(consumer.given)
            for low, high in given:
                consumer.let_go(low, high)
            self.rows.came_back(given, now, counted=True)
            self.rows.may_have_been_given(consumer.held)
            self.rows.came_back(list(consumer.held), now, counted=False)
        if leaving:
            self._consumers_left(now, out)

    def _consumers_left(self, now: Instant, out: list[Effect]) -> None:
        if not len(self.rows.consumers):
            self._reports.tell_all(now, out)
        self._step(now, out)

    # -- looking and changing ---------------------------------------------------------------

    def browse(self, session: LinkName, message: Browse, out: list[Effect]) -> None:
        """Show what waits."""
        self._browser.look(session, message, out)

    def purge(self, now: Instant, out: list[Effect]) -> int:
        """Discard what waits; how many messages."""
        count = self.rows.purge()
        self._step(now, out)
        return count

    # -- the store's word -------------------------------------------------------------------

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """Something is durable, or was refused."""
        rows = self.rows
        if rows.journal.resolved(token, failure):
            rows.trim(out)
            return
        self.entrance.resolved(token, failure, out)
        stored = self._intake.resolved(token, failure)
        if stored is not None:
            rows.arrived(stored)
            self.received.add(0 if stored.in_doubt else len(stored.frame), now)
        settled = rows.settlements.resolved(token, failure, now, out)
        rows.settled(settled or ())
        self._give_answers(now, out)
        self._step(now, out)

    def log_read(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        """The store answered a read."""
        rows = self.rows
        if rows.journal.is_recovery(fact.token):
            if rows.recovered(fact, out):
                self.entrance.journal_read(now, out)
                self.forwarded.ask_all(now, out)
                self._step(now, out)
            return
        if self._browser.read(fact, out):
            return
        if fact.token == self._body_token:
            self._body_token = None
            for entry in fact.frames:
                if isinstance(entry, RowsEntry):
                    rows.entries.load(entry.frame)
            if fact.lost:
                rows.lose(fact)
            self._step(now, out)

    # -- one step ---------------------------------------------------------------------------

    def _step(self, now: Instant, out: list[Effect]) -> None:
        """Hand out what can be, bury the dead, write down what was settled."""
        rows = self.rows
        letters: list[DeadLetter] = []
        needed = rows.bury(now, letters)
        out.extend(Send(LETTERS, letter) for letter in letters)
        wanted = self._dispatcher.hand_out(out)
        needed = wanted if needed is None else needed
        if needed is not None and self._body_token is None:
            self._body_token = rows.journal.read(needed, rows.journal.assigned_end, out)
        rows.settlements.flush(out)
        self.forwarded.note_durable(now)
        held = rows.entries.rows - rows.doubt.rows
        self._busy.set(held > 0, now)

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Expire, repeat questions, save and trim."""
        rows = self.rows
        rows.expire(now)
        rows.settlements.deadline(now, out)
        self._reports.deadline(now, out)
        self.forwarded.deadline(now, out)
        save_at = rows.journal.checkpoint_at()
        if save_at is not None and now >= save_at:
            rows.journal.checkpoint(self._intake.pending_ranges(), {}, now, out)
            rows.trim(out)
        self._step(now, out)

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        rows = self.rows
        return earliest(
            rows.journal.checkpoint_at(),
            rows.settlements.retry_at,
            rows.settlements.write_at,
            rows.bury_at,
            rows.next_expiry(),
            self.forwarded.next_deadline(),
            self._reports.next_deadline(),
        )

    # -- looking in -------------------------------------------------------------------------

    def check_invariants(self) -> None:
        """No row is in two places."""
        rows = self.rows
        held = sum(consumer.held_count for consumer in rows.consumers)
        known = rows.ready.count + held + rows.doubt.rows
        if known > rows.entries.rows:
            raise InvariantBroken(
                f"queue {self.name}: {rows.ready.count} ready, {held} held and {rows.doubt.rows} "
                f"in doubt are more than its {rows.entries.rows} messages"
            )
        seen = IntervalSet()
        places = [level for _, level in rows.ready.levels()]
        places += [consumer.held for consumer in rows.consumers]
        for place in places:
            for low, high in place:
                if seen.within(low, high):
                    raise InvariantBroken(f"queue {self.name}: rows in [{low}, {high}) twice")
                seen.add(low, high)
