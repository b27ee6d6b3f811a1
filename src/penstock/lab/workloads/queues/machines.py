"""Producers and consumers of a simulated run: the client library's own protocol machines.

A ``SimQueueProducer`` decides when to send and a ``SimQueueConsumer`` how fast to work;
penstock.client's ``QueueProducer`` and ``QueueReader`` do all the communication with a broker.
Both record what their application saw.
"""

from __future__ import annotations

from collections import deque

import msgspec

from penstock.client.errors import PenstockError, PublishRefusedError
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.parcel import Parcel
from penstock.client.queues.message import QueueBatch
from penstock.client.queues.producer import QueueProducer as ProducerProtocol
from penstock.client.queues.reader import Outcome as Settlement
from penstock.client.queues.reader import QueueReader
from penstock.core.clock import SECOND, Instant, earliest
from penstock.core.machine import Effect, Fact, LinkDown, LinkUp, Priority, Received, Send
from penstock.core.message import Message
from penstock.core.randomness import random_stream
from penstock.lab.oracle.queues.records import ConsumerHistory, Outcome, ProducerHistory
from penstock.lab.scenario.curve import step_at
from penstock.lab.service import Stage
from penstock.lab.workloads.queues.schedule import Schedule
from penstock.lab.workloads.queues.tables import QueueConsumer, QueueProducer
from penstock.services.queues.messages import DEFAULT_PRIORITY, SendToQueue, Settle, Settled

BROKER = "broker"
"""A client's name for its only link."""

UNLIMITED_BYTES = 1 << 40
"""A modelled client sends everything to its link at once; the link's own queue is the bound."""


class SimQueueProducer:
    """Sends at its schedule and records the outcomes."""

    def __init__(self, client: QueueProducer, history: ProducerHistory, stage: Stage) -> None:
        """The history knows the messages that it sends."""
        self.history = history
        self.producer = ProducerProtocol(
            client.name,
            PublishLimits(),
            queue=client.queue,
            priority=DEFAULT_PRIORITY,
            time_to_live_ns=0,
        )
        self._client = client
        random = random_stream(stage.seed, client.name, "jitter")
        self._schedule = Schedule(client, stage, random)
        self._unsettled: dict[Parcel, tuple[int, int]] = {}

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Process one fact and return what must be sent because of it."""
        match fact:
            case LinkUp():
                self.producer.connected()
            case LinkDown():
                self.producer.disconnected()
            case Received(message=message):
                self.producer.received(message)
        self._settle(now)
        self._send(now)
        out: list[Effect] = []
        for message in self.producer.outgoing(now, UNLIMITED_BYTES):
            priority = Priority.DATA if isinstance(message, SendToQueue) else Priority.CONTROL
            out.append(Send(BROKER, message, priority))
        return out

    @property
    def _blocked(self) -> bool:
        limit = self._client.max_in_flight
        full = bool(limit) and self.history.pending + self._schedule.rows > limit
        return full or not self.producer.has_room

    def _send(self, now: Instant) -> None:
        schedule, source = self._schedule, self.history.source
        assert source is not None, "the history was told what it sends"
        while schedule.is_due(now) and not self._blocked:
            batch = source.batch(len(self.history), schedule.rows)
            first = self.history.submitted(batch, now)
            parcel = self.producer.add_batch(batch)
            assert parcel is not None, "the producer reported free window space"
            self._unsettled[parcel] = (first, len(batch))
            schedule.advance()

    def _settle(self, now: Instant) -> None:
        for parcel in self.producer.take_settled():
            first, count = self._unsettled.pop(parcel)
            record_outcome(self.history, parcel, first, count, now)

    def next_deadline(self) -> Instant | None:
        """When the next batch is due, unless only a receipt can make room for it."""
        due_at = None if self._blocked else self._schedule.deadline
        return earliest(due_at, self.producer.next_deadline())

    def check_invariants(self) -> None:
        self.producer.check_invariants()


def record_outcome(
    history: ProducerHistory, parcel: Parcel, first: int, count: int, now: Instant
) -> None:
    """Record the outcome of a parcel whose first message has the number ``first``."""
    if parcel.failure is None:
        history.settled(first, count, Outcome.CONFIRMED, now)
        return
    for row in range(count):
        outcome, reason = Outcome.CONFIRMED, ""
        try:
            parcel.receipt(row)
        except PublishRefusedError as error:
            outcome, reason = Outcome.REFUSED, error.reason
        except PenstockError as error:
            outcome, reason = Outcome.UNCERTAIN, str(error)
        history.settled(first + row, 1, outcome, now, reason)


class _Work(msgspec.Struct, frozen=True):
    """Messages that the application works on, and when it has finished."""

    batch: QueueBatch
    first: int
    """The place of the first in the history."""
    finish_at: Instant


class SimQueueConsumer:
    """Works on what arrived together, then acknowledges it."""

    def __init__(self, client: QueueConsumer, history: ConsumerHistory, stage: Stage) -> None:
        self.history = history
        self._client = client
        self._stage = stage
        self._work: _Work | None = None
        self._finished: list[tuple[int, int]] = []
        """Acknowledged messages of which the broker was not told yet: place and count."""
        self._settling: deque[tuple[int, list[tuple[int, int]]]] = deque()
        """The same for each settlement that the broker has not confirmed, by number."""
        self._connected = False
        self._opens_again = False
        self._closing = False
        self.reader = self._new_reader()

    def _new_reader(self) -> QueueReader:
        client = self._client
        return QueueReader(client.name, client.queue, client.selector, client.prefetch)

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Process one fact and return what must be sent because of it."""
        reader = self.reader
        match fact:
            case LinkUp():
                self._connected = True
                reader.connected()
            case LinkDown():
                self._connected = False
                self._finished.clear()
                self._settling.clear()
                reader.disconnected()
            case Received(message=message):
                reader.received(message)
                if isinstance(message, Settled):
                    self._confirm(message, now)
        if self._closing:
            self._give_back(now)
        if reader.error is not None:
            raise reader.error
        if reader.is_over and self._opens_again:
            self._open_again()
        self._proceed(now)
        return [Send(BROKER, message, Priority.CONTROL) for message in self._outgoing(now)]

    # -- working ----------------------------------------------------------------------------

    def _proceed(self, now: Instant) -> None:
        """Finish what is finished, and begin with the next."""
        while True:
            if self._work is not None:
                if self._work.finish_at > now:
                    return
                self._finish(self._work)
            if not self.reader.deliveries:
                return
            self._begin(now)

    def _begin(self, now: Instant) -> None:
        reader = self.reader
        batch = QueueBatch(reader.deliveries.popleft(), reader.generation, self._settle)
        reader.hand_out(batch)
        batch.given = len(batch)
        first = self.history.received(batch.delivery, now)
        rate = step_at(self._client.rate_msgs_per_s, self._stage.second(now))
        duration_ns = round(len(batch) * SECOND / rate) if rate else 0
        self._work = _Work(batch, first, now + duration_ns)

    def _finish(self, work: _Work) -> None:
        """A connection that broke meanwhile does not stop the work, but its acknowledgement."""
        self._work = None
        self.history.consumed(work.first, len(work.batch), work.finish_at)
        work.batch.ack()
        if work.batch.generation == self.reader.generation:
            self._finished.append((work.first, len(work.batch)))

    def _settle(self, batch: QueueBatch, row: int | None, outcome: Settlement) -> None:
        assert row is None, "a batch is acknowledged as a whole"
        self.reader.settle_all(batch.generation, batch.positions, outcome)

    # -- telling the broker -----------------------------------------------------------------

    def _outgoing(self, now: Instant) -> list[Message]:
        out = self.reader.outgoing(now)
        numbers = [message.number for message in out if isinstance(message, Settle)]
        if numbers:
            self._settling.append((numbers[-1], self._finished))
            self._finished = []
        return out

    def _confirm(self, message: Settled, now: Instant) -> None:
        while self._settling and self._settling[0][0] <= message.number:
            for first, count in self._settling.popleft()[1]:
                if not message.stale:
                    self.history.confirmed(first, count, now)

    # -- closing ----------------------------------------------------------------------------

    def close(self) -> None:
        """The application closes; what it has not finished goes back to the queue."""
        self.reader.close()
        self._closing = True

    def _give_back(self, now: Instant) -> None:
        self._closing = False
        self._work = None
        self.history.closed(now)

    def reopen(self, *, connected: bool) -> None:
        """The application consumes again, as soon as the broker has confirmed the end."""
        self._connected = connected
        self._opens_again = True
        if self.reader.is_over:
            self._open_again()

    def _open_again(self) -> None:
        self._opens_again = False
        self._finished.clear()
        self._settling.clear()
        self.reader = self._new_reader()
        if self._connected:
            self.reader.connected()

    def next_deadline(self) -> Instant | None:
        """When the work in hand is finished."""
        return None if self._work is None else self._work.finish_at

    def check_invariants(self) -> None:
        """Nothing to check: the resulting history is judged instead."""
