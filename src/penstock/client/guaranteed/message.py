"""Messages of a subscription: rows of a stream, which the application acknowledges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import repeat
from typing import Final, TypeAlias

from penstock.client.guaranteed.acknowledgement import Piece
from penstock.client.rows import Processing, RowBatch, RowMessage
from penstock.content.rows.frame import Frame
from penstock.core.intervals import Tick

Acknowledge: TypeAlias = Callable[[Piece, int | None], None]
"""Takes a piece and the row that is done, or None for all of them."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class MessageBatch(RowBatch):
    """Consecutive messages of one pubend, as they arrived together."""

    __slots__ = ("_acknowledge", "_ticks", "frame", "piece")

    def __init__(self, piece: Piece, frame: Frame, acknowledge: Acknowledge) -> None:
        """``piece`` keeps the account of what is acknowledged."""
        super().__init__(frame.batch)
        self.frame = frame
        self.piece = piece
        self._acknowledge = acknowledge
        self._ticks: list[Tick] | range | None = None

    @property
    def pubend(self) -> str:
        """The pubend whose stream they stand in."""
        return self.piece.pubend

    def __iter__(self) -> Iterator[Message]:
        """The messages in order."""
        return self.messages(iter(range(len(self))))

    def messages(self, rows: Iterator[int]) -> Iterator[Message]:
        """The messages of these rows, made as they are asked for."""
        return map(Message, repeat(self), rows)

    def __repr__(self) -> str:
        """For people: where from, and how many."""
        frame = self.frame
        return f"MessageBatch({self.pubend!r}, [{frame.low}, {frame.high}), {len(self)} messages)"

    @property
    def ticks(self) -> list[Tick] | range:
        """The place of each message in its stream."""
        if self._ticks is None:
            ticks = self.frame.ticks
            self._ticks = ticks if isinstance(ticks, range) else ticks.tolist()
        return self._ticks

    def ack(self) -> None:
        """Acknowledge all of them."""
        self._acknowledge(self.piece, None)

    def ack_row(self, row: int) -> None:
        """Acknowledge one of them."""
        self._acknowledge(self.piece, row)

    def process(self) -> Processing[MessageBatch]:
        """``async with batch.process():`` acknowledges at the end of a block that succeeds."""
        return Processing(self, self.ack)


class Message(RowMessage, frozen=True, eq=False, gc=False):
    """One message.  ``message["name"]`` is the quickest way to a single attribute."""

    batch: MessageBatch
    row: int

    @property
    def pubend(self) -> str:
        """The pubend whose stream it stands in."""
        return self.batch.piece.pubend

    @property
    def tick(self) -> Tick:
        """Its place in the stream: nanoseconds since 1970 by the pubend's clock."""
        return self.batch.ticks[self.row]

    @property
    def time(self) -> datetime:
        """When the pubend accepted it, to the microsecond."""
        return EPOCH + timedelta(microseconds=self.tick // 1000)

    def ack(self) -> None:
        """Acknowledge it."""
        self.batch.ack_row(self.row)

    def process(self) -> Processing[Message]:
        """``async with message.process():`` acknowledges at the end of a block that succeeds."""
        return Processing(self, self.ack)

    def __repr__(self) -> str:
        """For people: where it stands and what it says."""
        return self._shown(self.pubend, self.tick)
