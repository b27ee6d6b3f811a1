"""What a queue and an alias queue have in common: from a client's rows to durable rows.

It owns the journal, the entries (the unsettled rows), the appender (rows that are not durable yet)
and the admission of clients.  ``Queue`` and ``AliasQueue`` say what happens to a row once it is
durable.

1. ``start`` and ``log_read`` recover the journal; requests that arrive before are kept and handled
   in order when it has been read.
2. ``send`` admits rows and orders them into the journal; ``resolved`` takes the answer of the
   store, hands durable rows to the subclass and answers the senders.
3. Each of these ends with ``_step``, in which the subclass does whatever has become possible.
4. ``deadline`` also saves a checkpoint of the journal from time to time and trims it.

Effects are appended to ``out`` in the order in which they are to be carried out; the broker returns
that list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from penstock.core.clock import Instant, earliest
from penstock.core.intervals import Interval
from penstock.core.machine import Effect, LogRead, PersistFailed
from penstock.mechanisms.rate_meter import WindowRateMeter
from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.admission import (
    TAKEN_OVER,
    AdmissionRequest,
    QueueAdmission,
    WaitingRequest,
)
from penstock.services.queues.context import QueueContext
from penstock.services.queues.log.append import AppendAnswer, Appender, entry_of
from penstock.services.queues.log.bodies import BodyReader
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import OpenSender, RowsEntry, SenderEntry, SendToQueue
from penstock.services.queues.parameters import AliasConfig, QueueConfig
from penstock.services.queues.queue.senders import ClientSender, Sender
from penstock.services.queues.replies import answer_client, client_reply

Handler: TypeAlias = Callable[[Any, Instant, list[Effect]], None]
AnswerHandler: TypeAlias = Callable[[Any, AppendAnswer[Sender], Instant, list[Effect]], None]


class DurableQueue(ABC):
    """The part of a queue or an alias queue up to the moment when rows are durable."""

    def __init__(self, config: QueueConfig | AliasConfig, log: str, context: QueueContext) -> None:
        parameters = context.parameters
        self.name = config.name
        self.log = log
        self._broker = context.broker
        self.journal = Journal(log, context)
        self.entries = Entries(parameters.memory_bytes)
        self.received = WindowRateMeter(context.now)
        self._appender: Appender[Sender] = Appender(self.journal)
        self._bodies = BodyReader(self.journal, self.entries)
        self._admission = QueueAdmission(
            context.broker,
            config,
            parameters.submit_limit_bytes,
            self.journal,
            self.entries,
            self._appender,
            self,
        )
        self._recoveries: dict[type, Callable[[Any], None]] = {
            RowsEntry: self._recover_rows,
            SenderEntry: self.journal.sender_found,
        }
        """How an entry of the journal is recovered, by its type."""
        self._requests: dict[type, Handler] = {AdmissionRequest: self._client_request}
        """How a request is handled once the journal has been read, by its type."""
        self._answers: dict[type, AnswerHandler] = {ClientSender: self._answer_client}
        """How a sender gets its answer, by the type of the sender."""
        self._messages: dict[type, Handler] = {}
        """How a message of another queue or alias queue is handled, by its type."""

    # -- recovery ---------------------------------------------------------------------------

    def start(self, now: Instant, out: list[Effect]) -> None:
        """Read the journal."""
        self.journal.start(out)
        if self.journal.ready:
            self._begin(now, out)

    @property
    def is_ready(self) -> bool:
        """Whether the journal has been read."""
        return self.journal.ready

    def log_read(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        """Take what the store has read: a piece of the journal to recover, or bodies."""
        if self.journal.is_recovery(fact.token):
            for entry in fact.frames:
                recover = self._recoveries.get(type(entry))
                if recover is not None:
                    recover(entry)
            if self.journal.recovered(fact, out):
                self._place_recovered()
                self._begin(now, out)
        elif self._bodies.loaded(fact):
            if fact.lost:
                self._lose(fact.lost)
            self._step(now, out)

    def _recover_rows(self, rows: RowsEntry) -> None:
        self.entries.add(entry_of(rows, recovered=True))
        if self.journal.is_unsaved(rows):
            origins = self.journal.origins
            origins.add(rows.origin, rows.first_sequence, len(rows.frame))

    def _begin(self, now: Instant, out: list[Effect]) -> None:
        """The journal has been read: handle what waited for it."""
        for request in self._admission.take_waiting():
            self._requests[type(request)](request, now, out)
        self._resume(now, out)
        self._step(now, out)

    @abstractmethod
    def _place_recovered(self) -> None:
        """Put every recovered row that is not settled where it belongs."""

    @abstractmethod
    def _resume(self, now: Instant, out: list[Effect]) -> None:
        """Continue after a restart what the other side of a transaction may wait for."""

    @abstractmethod
    def _lose(self, lost: Iterable[Interval]) -> None:
        """Give up the waiting rows whose bodies the disk can no longer read."""

    # -- sending ----------------------------------------------------------------------------

    def send(
        self, sender: ClientSender, message: SendToQueue, now: Instant, out: list[Effect]
    ) -> None:
        """Admit and store a client's rows, or refuse them."""
        problem = self._admission.refusal(sender, message, now)
        if problem:
            self._admission.refuse(sender, message, problem, out)
            return
        expires_at = now + message.time_to_live_ns if message.time_to_live_ns else 0
        self._request(AdmissionRequest(sender, message, expires_at), now, out)

    def open_sender(
        self, sender: ClientSender, message: OpenSender, now: Instant, out: list[Effect]
    ) -> None:
        """Give a client's sender its name, and tell it where to continue."""
        self._request(AdmissionRequest(sender, message), now, out)

    @property
    def waiting_requests(self) -> int:
        """Requests that wait until the journal has been read."""
        return self._admission.waiting

    def _request(self, request: WaitingRequest, now: Instant, out: list[Effect]) -> None:
        """Handle a request, now or when the journal has been read."""
        if not self._admission.must_wait(request):
            self._requests[type(request)](request, now, out)

    def _client_request(self, request: AdmissionRequest, now: Instant, out: list[Effect]) -> None:
        sender, message = request.sender, request.message
        if isinstance(message, OpenSender):
            self._admission.open_sender(sender, message, out)
            return
        if not self._admission.owns_name(sender, message):
            reason = TAKEN_OVER.format(name=message.producer)
            self._admission.refuse(sender, message, reason, out, taken_over=True)
            return
        answer, entries = self._appender.admit(
            sender,
            sender.origin,
            message.first_sequence,
            message.batch,
            priority=message.priority,
            expires_at=request.expires_at,
        )
        for entry in entries:
            self._store(entry, answer, out)
        self._forget_old_numbers(sender)
        self._give_answers(now, out)

    def _store(self, entry: RowsEntry, answer: AppendAnswer[Sender], out: list[Effect]) -> None:
        """Make admitted rows of a client durable."""
        self._appender.append(entry, answer, out)

    def _forget_old_numbers(self, sender: ClientSender) -> None:
        origins = self.journal.origins
        origins.bound_set(sender.origin)

    def _give_answers(self, now: Instant, out: list[Effect]) -> None:
        """Answer the senders whose rows are durable or refused."""
        for answer in self._appender.answers():
            sender = answer.sender
            self._answers[type(sender)](sender, answer, now, out)

    def _answer_client(
        self,
        sender: ClientSender,
        answer: AppendAnswer[Sender],
        now: Instant,
        out: list[Effect],
    ) -> None:
        answer_client(sender, client_reply(sender, answer), self._broker, out)

    # -- durable rows -----------------------------------------------------------------------

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """Take the answer of the store to an order of this queue."""
        if self.journal.resolved(token, failure):
            self._checkpoint_resolved(failure, out)
            return
        self._admission.resolved(token, failure, out)
        stored = self._appender.resolved(token, failure)
        if stored is not None:
            self._arrived(stored, now, out)
        self._note_resolved(token, failure, now, out)
        self._give_answers(now, out)
        self._step(now, out)

    @abstractmethod
    def _arrived(self, rows: RowsEntry, now: Instant, out: list[Effect]) -> None:
        """Rows are durable."""

    @abstractmethod
    def _note_resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """Take the answer of the store to a note, if the order was one."""

    @abstractmethod
    def _step(self, now: Instant, out: list[Effect]) -> None:
        """Do whatever has become possible."""

    # -- other queues -----------------------------------------------------------------------

    def handle(self, message: Any, now: Instant, out: list[Effect]) -> None:
        """Take a message of another queue or alias queue."""
        self._messages[type(message)](message, now, out)

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Do what is due, save a checkpoint if it is time, and trim."""
        self._due(now, out)
        save_at = self.journal.checkpoint_at()
        if save_at is not None and now >= save_at:
            self._checkpoint(now, out)
            self._trim(out)
        self._step(now, out)

    def next_deadline(self) -> Instant | None:
        """The earliest deadline of all parts."""
        return earliest(self.journal.checkpoint_at(), self._next_due())

    @abstractmethod
    def _due(self, now: Instant, out: list[Effect]) -> None:
        """Do what time alone brings about, apart from checkpoints."""

    @abstractmethod
    def _next_due(self) -> Instant | None:
        """When that is."""

    def _checkpoint(self, now: Instant, out: list[Effect]) -> None:
        self.journal.checkpoint(self._unconfirmed_ranges(), {}, now, out)

    def _unconfirmed_ranges(self) -> list[OriginRange]:
        """The numbers in the table of origins that a checkpoint must leave out."""
        return self._appender.pending_ranges()

    def _checkpoint_resolved(self, failure: PersistFailed | None, out: list[Effect]) -> None:
        """The checkpoint is durable, or failed: trim what is not needed."""
        self._trim(out)

    def _trim(self, out: list[Effect]) -> None:
        """Trim the part of the journal that is not needed."""
        self.journal.trim(self.entries.lowest, out)

    # -- looking in -------------------------------------------------------------------------

    @abstractmethod
    def explain(self, now: Instant) -> str:
        """Why messages wait, in a sentence."""

    @abstractmethod
    def purge(self, now: Instant, out: list[Effect]) -> int:
        """Discard the rows that wait; returns how many there were."""

    @abstractmethod
    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if the state is impossible."""
