"""Messages from a queue: rows that the consumer settles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import TypeAlias

from penstock.client.queues.reader import Outcome
from penstock.client.rows import Processing, RowBatch, RowMessage
from penstock.services.queues.messages import Deliver

SettleRows: TypeAlias = Callable[["QueueBatch", int | None, Outcome], None]
"""Takes a batch, a row of it or None for all, and the outcome."""


class QueueBatch(RowBatch):
    """Messages of one queue, as they arrived together."""

    __slots__ = ("_settle", "delivery", "generation", "given", "positions", "told", "tried")

    def __init__(self, delivery: Deliver, generation: int, settle: SettleRows) -> None:
        """``generation`` numbers the connection on which they came."""
        super().__init__(delivery.frame.batch)
        self.delivery = delivery
        self.generation = generation
        ticks = delivery.frame.ticks
        self.positions: range | list[int] = ticks if isinstance(ticks, range) else ticks.tolist()
        self.tried = dict(delivery.attempts)
        """Failed deliveries of each message that was handed out before, by position."""
        self.given = 0
        """How many of the messages, from the first on, the application has been given."""
        self.told = 0
        """How many of those the broker knows of."""
        self._settle = settle

    def __iter__(self) -> Iterator[QueueMessage]:
        """The messages in order."""
        return map(QueueMessage, repeat(self), range(len(self)))

    def settle(self, row: int | None, outcome: Outcome) -> None:
        """Settle one message, or all of them."""
        self._settle(self, row, outcome)

    def ack(self) -> None:
        """Acknowledge all of them: the work is done."""
        self._settle(self, None, Outcome.ACCEPTED)


class QueueMessage(RowMessage, frozen=True, eq=False, gc=False):
    """One message; settle it with ``ack``, ``nack``, ``release`` or ``reject``."""

    batch: QueueBatch
    row: int

    @property
    def position(self) -> int:
        """Its place in the queue."""
        return self.batch.positions[self.row]

    @property
    def failed_deliveries(self) -> int:
        """How many deliveries of it failed before, as far as the broker knows."""
        return self.batch.tried.get(self.position, 0)

    @property
    def redelivered(self) -> bool:
        """Whether it may have been handed out before."""
        return self.batch.delivery.recovered or self.position in self.batch.tried

    def ack(self) -> None:
        """The work is done."""
        self.batch.settle(self.row, Outcome.ACCEPTED)

    def nack(self) -> None:
        """The work failed: deliver it again, here or elsewhere."""
        self.batch.settle(self.row, Outcome.FAILED)

    def release(self) -> None:
        """Give it back without having tried."""
        self.batch.settle(self.row, Outcome.RELEASED)

    def reject(self) -> None:
        """Make it a dead letter: it cannot be processed."""
        self.batch.settle(self.row, Outcome.REJECTED)

    def process(self) -> Processing[QueueMessage]:
        """``async with message.process():`` acknowledges, or hands it out again on an error."""
        return Processing(self, self.ack, self.nack)

    def __repr__(self) -> str:
        """For people: where it stands and what it says."""
        return self._shown(self.position)
