"""The sender to groups, without input or output: numbering, batches and repetition are those of any
producer.

Only the messages differ: the groups stand for the pubend, and a receipt says that every broker with
members has the message, where a pubend's says that it is durable.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.client.errors import PenstockError, PublishRefusedError
from penstock.client.life_cycle import ProducerPhase
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.parcel import Shipment
from penstock.client.publishing.producer import Producer
from penstock.client.publishing.receipts import BatchReceipt
from penstock.core.clock import Instant
from penstock.core.message import Message
from penstock.services.guaranteed.messages import (
    OpenProducer,
    ProducerOpened,
    ProducerRefused,
    Publish,
    PublishReceipt,
    PublishRefused,
)
from penstock.services.multicast.messages import (
    CloseGroupSender,
    GroupSenderOpened,
    GroupSendReceipt,
    GroupSendRefused,
    OpenGroupSender,
    SendToGroups,
)

WINDOW_BYTES: Final = 1 << 20
"""What a sender may have without a receipt: what the broker lets wait (multicast.waiting_bytes)."""

BATCH_BYTES: Final = 64 << 10
"""What is gathered into one message.  The flow control buys messages whole, so that large ones come
in bursts; 64 packets are well below what a priced link holds."""

GROUP_LIMITS: Final = PublishLimits(batch_bytes=BATCH_BYTES, window_bytes=WINDOW_BYTES)


class GroupSendError(PublishRefusedError):
    """The broker delivered these messages to no member, and said why."""

    def __str__(self) -> str:
        """One line for people."""
        return f"group {self.pubend!r} was not sent {self.count} message(s): {self.reason}"


class GroupProducer(Producer):
    """One numbered sequence of messages for a set of groups."""

    def __init__(
        self,
        name: str,
        limits: PublishLimits,
        *,
        groups: tuple[str, ...],
        must_exist: bool = False,
        weight: float = 1.0,
    ) -> None:
        """``must_exist`` refuses messages to groups without members; ``weight`` values its rate."""
        super().__init__(name, limits, pubend=" ".join(groups), first_sequence=0)
        self.groups = groups
        self._must_exist = must_exist
        self._weight = weight

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """What to send now, as messages of the multicast service."""
        return [self._to_groups(message) for message in super().outgoing(now, room_bytes)]

    def farewell(self) -> list[Message]:
        """What to say when nothing more will be sent."""
        return [CloseGroupSender(self.name)] if self.phase is ProducerPhase.OPEN else []

    def _to_groups(self, message: Message) -> Message:
        if isinstance(message, Publish):
            return SendToGroups(
                message.producer,
                self.groups,
                message.first_sequence,
                message.batch,
                self._must_exist,
            )
        assert isinstance(message, OpenProducer)
        return OpenGroupSender(message.producer, self._weight)

    def received(self, message: Any) -> None:
        """Handle an answer of the multicast service."""
        match message:
            case GroupSendReceipt(producer, first, count, _, waited_ns):
                super().received(PublishReceipt(producer, first, count, 0, waited_ns=waited_ns))
            case GroupSendRefused(producer, first, count, reason):
                super().received(PublishRefused(producer, first, count, reason))
            case GroupSenderOpened(producer, problem) if problem:
                super().received(ProducerRefused(producer, problem))
            case GroupSenderOpened(producer):
                super().received(ProducerOpened(producer, self.pubend, 0))

    def _settle(self, shipment: Shipment, outcome: BatchReceipt | PenstockError) -> None:
        if isinstance(outcome, PublishRefusedError):
            outcome = GroupSendError(
                self.pubend, outcome.first_sequence, outcome.count, outcome.reason
            )
        super()._settle(shipment, outcome)
