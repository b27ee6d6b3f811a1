"""Publishers and subscribers of a simulated run: the real client protocol at a modelled pace.

A ``SimPublisher`` decides when to publish and a ``SimSubscriber`` how fast to read;
penstock.client's own ``Producer`` and ``Reader`` do all the communication with a broker.  Both
record the history that their application saw.
"""

from __future__ import annotations

from random import Random

from penstock.client.errors import DataLoss, PenstockError, PublishRefusedError
from penstock.client.guaranteed.message import MessageBatch
from penstock.client.guaranteed.reader import Reader, ReaderOptions
from penstock.client.guaranteed.start import Start
from penstock.client.life_cycle import ReaderPhase
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.parcel import Parcel
from penstock.client.publishing.producer import Producer
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND, Instant, earliest
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, Fact, LinkDown, LinkUp, Priority, Received, Send
from penstock.core.message import Message
from penstock.lab.oracle.guaranteed.history import Outcome, PublisherHistory, SubscriberHistory
from penstock.lab.workloads.pace import Pace, PacedSlots
from penstock.services.guaranteed.messages import Publish

BROKER = "broker"
"""A client's name for its only link."""

UNLIMITED_BYTES = 1 << 40
"""A modelled client sends everything to its link at once; the link's own queue is the bound."""


class SimPublisher:
    """A machine that publishes at its pace and records the outcomes."""

    def __init__(
        self,
        history: PublisherHistory,
        pace: Pace,
        random: Random,
        limits: PublishLimits | None = None,
        *,
        producer: str = "",
        instance: int = 0,
    ) -> None:
        """Publishes the history's source under the name ``producer``.

        ``instance`` distinguishes it from others that publish under the same name.
        """
        spec = history.source.spec
        self.history = history
        self.producer = Producer(
            producer or spec.producer,
            limits or PublishLimits(),
            pubend=spec.pubend,
            instance=instance,
        )
        self._pace = pace
        self._slots = PacedSlots(pace, random)
        self._unsettled: dict[Parcel, tuple[int, int]] = {}
        self._unsettled_messages = 0
        self._heard_at: Instant = 0

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Process one fact and return what must be sent because of it."""
        self._heard_at = now
        match fact:
            case LinkUp():
                self.producer.connected()
            case LinkDown():
                self.producer.disconnected()
            case Received(message=message):
                self.producer.received(message)
        self._settle(now)
        self._publish(now)
        out: list[Effect] = []
        for message in self.producer.outgoing(now, UNLIMITED_BYTES):
            priority = Priority.DATA if isinstance(message, Publish) else Priority.CONTROL
            out.append(Send(BROKER, message, priority))
        return out

    @property
    def finished(self) -> bool:
        """Whether no more messages will be published."""
        limit = self._pace.messages
        return bool(limit) and len(self.history) >= limit

    @property
    def unsettled_messages(self) -> int:
        """The number of messages without an outcome."""
        return self._unsettled_messages

    @property
    def _blocked(self) -> bool:
        limit = self._pace.max_in_flight
        full = bool(limit) and self._unsettled_messages + self._pace.batch_rows > limit
        return full or not self.producer.has_room

    def _publish(self, now: Instant) -> None:
        pace, slots = self._pace, self._slots
        while slots.next_at <= now and now < pace.stop_at and not self.finished:
            if self._blocked:
                if not pace.has_rate:
                    return
                slots.advance()
                continue
            count = pace.batch_rows
            if pace.messages:
                count = min(count, pace.messages - len(self.history))
            first = self.history.submitted(count, now)
            parcel = self.producer.add_batch(self.history.source.batch(first, count))
            assert parcel is not None, "the producer reported free window space"
            self._unsettled[parcel] = (first, count)
            self._unsettled_messages += count
            slots.advance()

    def _settle(self, now: Instant) -> None:
        for parcel in self.producer.take_settled():
            first, count = self._unsettled.pop(parcel)
            self._unsettled_messages -= count
            record_outcome(self.history, parcel, first, count, now)

    def next_deadline(self) -> Instant | None:
        """When the next batch is due, unless only a receipt can unblock the publisher."""
        slot: Instant | None = self._slots.next_at
        waiting = self._blocked and not self._pace.has_rate
        # Without a rate every instant is a slot, also after the end.
        over = max(self._heard_at, self._slots.next_at) >= self._pace.stop_at
        if self.finished or waiting or over:
            slot = None
        return earliest(slot, self.producer.next_deadline())

    def check_invariants(self) -> None:
        self.producer.check_invariants()


def record_outcome(
    history: PublisherHistory, parcel: Parcel, first: int, count: int, now: Instant
) -> None:
    """Record the outcome of a parcel whose first message has the number ``first``."""
    if parcel.failure is None:
        at = first
        for receipt in parcel.receipts():
            history.pubends.add(receipt.pubend)
            history.acknowledged(at, receipt.count, receipt.first_tick, now)
            at += receipt.count
        return
    for row in range(count):
        try:
            receipt_of_row = parcel.receipt(row)
        except PublishRefusedError as error:
            history.failed(first + row, 1, Outcome.REFUSED, error.reason, now)
        except PenstockError as error:
            history.failed(first + row, 1, Outcome.UNCERTAIN, str(error), now)
        else:
            history.pubends.add(receipt_of_row.pubend)
            history.acknowledged(first + row, 1, receipt_of_row.tick, now)


class SimSubscriber:
    """A machine that reads at its pace and records what it receives."""

    def __init__(
        self,
        history: SubscriberHistory,
        start: Start,
        options: ReaderOptions,
        *,
        read_msgs_per_s: float = 0.0,
    ) -> None:
        """A pace of 0 means as fast as messages arrive."""
        self.history = history
        self._wish = (start, options)
        self.reader = Reader(history.name, history.selector, start, options)
        self._known_ends: dict[str, Tick] = {}
        self._taken_ends: dict[str, Tick] = {}
        self._gap = SECOND / read_msgs_per_s if read_msgs_per_s else 0.0
        self._free_at: Instant = 0
        self._heard_at: Instant = 0

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Process one fact and return what must be sent because of it."""
        reader = self.reader
        self._heard_at = now
        match fact:
            case LinkUp():
                reader.connected()
            case LinkDown():
                reader.disconnected("the connection broke")
            case Received(message=message):
                reader.received(message)
                if reader.phase is ReaderPhase.OPEN:
                    self.history.in_force(now, reader.positions())
        self._read(now)
        out: list[Message] = reader.outgoing(now)
        return [Send(BROKER, message, Priority.CONTROL) for message in out]

    def _read(self, now: Instant) -> None:
        while now >= self._free_at:
            taken = self.reader.take()
            if taken is None:
                return
            if isinstance(taken, DataLoss):
                lost = Frame(taken.low, taken.high, final=True)
                self.history.received(taken.pubend, lost, now)
                continue
            self._record(taken, now)
            self._free_at = now + round(self._gap * len(taken))
            if not self._gap:
                continue
            return

    def _record(self, taken: MessageBatch, now: Instant) -> None:
        """Record a delivery, except for rows that the application recognises as repeats."""
        pubend, frame = taken.pubend, taken.frame
        known_end = self._known_ends.get(pubend, 0)
        if known_end > frame.low:
            frame = frame.slice(min(known_end, frame.high), frame.high)
        self.history.received(pubend, frame, now)
        self._taken_ends[pubend] = taken.frame.high

    def close(self) -> None:
        """The application closes the subscription cleanly."""
        self.reader.close()

    def reopen(self, *, connected: bool) -> None:
        """The application opens the durable subscription again, as a new program would.

        The broker may redeliver what the previous reader had not settled, and what a broker had not
        saved when it crashed.  A program recognises such repeats by its own records, and so does
        this one.
        """
        if not self.reader.is_over:
            return
        if self.history.in_force_at is None:
            self.history.restart()
            self._taken_ends.clear()
        self._known_ends = dict(self._taken_ends)
        self.reader = Reader(self.history.name, self.history.selector, *self._wish)
        if connected:
            self.reader.connected()

    def next_deadline(self) -> Instant | None:
        """When it reads on, or reports its position."""
        reading = self._free_at if self._free_at > self._heard_at else None
        return earliest(reading, self.reader.next_deadline())

    def check_invariants(self) -> None:
        """Nothing to check: the resulting history is judged instead."""
