"""Messages from a queue as the application sees them: small objects over the columns of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from types import TracebackType
from typing import Any, TypeAlias

import msgspec

from penstock.client.queues.reader import Outcome
from penstock.content.rows.columns import AttributeValue
from penstock.services.queues.messages import Deliver

SettleRows: TypeAlias = Callable[["QueueBatch", int | None, Outcome], None]
"""Takes a batch, a row of it or None for all, and what became of it."""


class QueueBatch:
    """Messages of one queue, as they arrived together."""

    __slots__ = (
        "_attributes",
        "_payloads",
        "_settle",
        "delivery",
        "generation",
        "given",
        "positions",
        "told",
        "tried",
    )

    def __init__(self, delivery: Deliver, generation: int, settle: SettleRows) -> None:
        """``generation`` tells on which connection they came."""
        self.delivery = delivery
        self.generation = generation
        ticks = delivery.frame.ticks
        self.positions: range | list[int] = ticks if isinstance(ticks, range) else ticks.tolist()
        self.tried = dict(delivery.attempts)
        """The rows that were handed out before, by position, and how often in vain."""
        self.given = 0
        """How many of the messages, from the first on, the application has been given."""
        self.told = 0
        """How many of those the broker knows of."""
        self._settle = settle
        self._attributes: list[dict[str, AttributeValue]] | None = None
        self._payloads: list[bytes] | None = None

    def __len__(self) -> int:
        """How many messages."""
        return len(self.positions)

    def __iter__(self) -> Iterator[QueueMessage]:
        """The messages in order."""
        return map(QueueMessage, repeat(self), range(len(self)))

    @property
    def attributes(self) -> list[dict[str, AttributeValue]]:
        """The attributes of each message."""
        if self._attributes is None:
            self._attributes = self.delivery.frame.batch.attribute_rows()
        return self._attributes

    @property
    def payloads(self) -> list[bytes]:
        """The payload of each message."""
        if self._payloads is None:
            self._payloads = self.delivery.frame.batch.payload_rows()
        return self._payloads

    def settle(self, row: int | None, outcome: Outcome) -> None:
        """One message, or all of them, have their outcome."""
        self._settle(self, row, outcome)

    def ack(self) -> None:
        """The work on all of them is done."""
        self._settle(self, None, Outcome.ACCEPTED)


class QueueMessage(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One message; settle it with ``ack``, ``nack``, ``release`` or ``reject``."""

    batch: QueueBatch
    row: int

    @property
    def position(self) -> int:
        """Its place in the queue."""
        return self.batch.positions[self.row]

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        """All attributes that it has."""
        return self.batch.attributes[self.row]

    @property
    def payload(self) -> bytes:
        """Its payload."""
        return self.batch.payloads[self.row]

    def __getitem__(self, name: str) -> AttributeValue:
        """One attribute; ``KeyError`` if it has none of this name."""
        return self.attributes[name]

    def get(self, name: str, default: Any = None) -> Any:
        """One attribute, or the default."""
        return self.attributes.get(name, default)

    @property
    def failed_deliveries(self) -> int:
        """How often it was handed out in vain before, as far as the broker knows."""
        return self.batch.tried.get(self.position, 0)

    @property
    def redelivered(self) -> bool:
        """Whether it may have been handed out before."""
        return self.batch.delivery.recovered or self.position in self.batch.tried

    def ack(self) -> None:
        """The work is done."""
        self.batch.settle(self.row, Outcome.ACCEPTED)

    def nack(self) -> None:
        """The work failed: try it again, here or elsewhere."""
        self.batch.settle(self.row, Outcome.FAILED)

    def release(self) -> None:
        """Give it back without having tried."""
        self.batch.settle(self.row, Outcome.RELEASED)

    def reject(self) -> None:
        """It is hopeless: a dead letter."""
        self.batch.settle(self.row, Outcome.REJECTED)

    def process(self) -> QueueProcessing:
        """``async with message.process():`` acknowledges, or hands it out again on an error."""
        return QueueProcessing(self)

    def __repr__(self) -> str:
        """For people: where it stands and what it says, the payload shortened."""
        shown = self.payload[:32]
        more = f"… ({len(self.payload)} bytes)" if len(self.payload) > len(shown) else ""
        return f"QueueMessage({self.position}, {self.attributes}, {shown!r}{more})"


class QueueProcessing:
    """Settles a message at the end of a block; works with and without ``async``."""

    __slots__ = ("_message",)

    def __init__(self, message: QueueMessage) -> None:
        """Settles this message."""
        self._message = message

    def __enter__(self) -> QueueMessage:
        """Begin."""
        return self._message

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Done, or to be tried again; the exception goes on."""
        if kind is None:
            self._message.ack()
        else:
            self._message.nack()

    async def __aenter__(self) -> QueueMessage:
        """Begin."""
        return self._message

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """As without ``async``: settling does not wait for anything."""
        self.__exit__(kind, error, traceback)
