"""The producer of one queue: numbering, batches and repetition are those of any producer.

Only the messages differ: a queue's name stands for the pubend, a position for the tick.
"""

from __future__ import annotations

from typing import Any

from penstock.client.errors import PenstockError, PublishRefusedError, PublishUncertain
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.parcel import Shipment
from penstock.client.publishing.producer import Producer
from penstock.client.publishing.receipts import BatchReceipt
from penstock.core.clock import Duration, Instant
from penstock.core.message import Message
from penstock.services.guaranteed.messages import (
    OpenProducer,
    ProducerOpened,
    ProducerRefused,
    Publish,
    PublishReceipt,
    PublishRefused,
)
from penstock.services.queues.messages import (
    OpenSender,
    SenderOpened,
    SendReceipt,
    SendRefused,
    SendToQueue,
)


class SendRefusedError(PublishRefusedError):
    """The broker stored none of these messages in the queue, and said why."""

    def __init__(self, queue: str, first_sequence: int, count: int, reason: str) -> None:
        """The messages are numbered from ``first_sequence``; -1 if they never got a number."""
        super().__init__(queue, first_sequence, count, reason)
        self.queue = queue

    def __str__(self) -> str:
        """One line for people."""
        return f"queue {self.queue!r} refused {self.count} message(s): {self.reason}"


class SendUncertain(PublishUncertain):
    """Whether these messages are in the queue cannot be found out at present."""

    def __init__(self, queue: str, first_sequence: int, count: int, reason: str) -> None:
        """The messages are numbered from ``first_sequence``."""
        super().__init__(queue, first_sequence, count, reason)
        self.queue = queue

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"{self.count} message(s) from sequence {self.first_sequence} may or may not be in "
            f"queue {self.queue!r}: {self.reason}; send them again only if a repetition does no "
            "harm"
        )


class QueueProducer(Producer):
    """One numbered sequence of messages for one queue or alias queue."""

    def __init__(
        self,
        name: str,
        limits: PublishLimits,
        *,
        queue: str,
        priority: int,
        time_to_live_ns: Duration,
        first_sequence: int | None = None,
        instance: int = 0,
    ) -> None:
        """All messages have the same priority and time to live."""
        super().__init__(
            name, limits, pubend=queue, first_sequence=first_sequence, instance=instance
        )
        self._priority = priority
        self._time_to_live_ns = time_to_live_ns

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """What to send now, as messages of the queue service."""
        return [self._to_queue(message) for message in super().outgoing(now, room_bytes)]

    def farewell(self) -> list[Message]:
        """A queue keeps nothing for a connection that sends to it."""
        return []

    def _to_queue(self, message: Message) -> Message:
        if isinstance(message, Publish):
            return SendToQueue(
                message.producer,
                self.pubend,
                message.first_sequence,
                message.batch,
                self._priority,
                self._time_to_live_ns,
                self.instance,
            )
        assert isinstance(message, OpenProducer)
        return OpenSender(message.producer, message.pubend, message.instance, message.resumes)

    def received(self, message: Any) -> None:
        """Handle an answer of the queue service."""
        match message:
            case SendReceipt(producer, _, first, count, position):
                super().received(PublishReceipt(producer, first, count, position))
            case SendRefused(producer, _, first, count, reason, taken_over, uncertain):
                super().received(PublishRefused(producer, first, count, reason, uncertain))
                if taken_over:
                    super().received(ProducerRefused(producer, reason, taken_over))
            case SenderOpened(producer, _, _, problem, taken_over) if problem:
                super().received(ProducerRefused(producer, problem, taken_over))
            case SenderOpened(producer, queue, next_sequence):
                super().received(ProducerOpened(producer, queue, next_sequence))

    def _settle(self, shipment: Shipment, outcome: BatchReceipt | PenstockError) -> None:
        if isinstance(outcome, PublishUncertain):
            outcome = SendUncertain(
                self.pubend, outcome.first_sequence, outcome.count, outcome.reason
            )
        elif type(outcome) is PublishRefusedError:
            outcome = SendRefusedError(
                self.pubend, outcome.first_sequence, outcome.count, outcome.reason
            )
        super()._settle(shipment, outcome)
