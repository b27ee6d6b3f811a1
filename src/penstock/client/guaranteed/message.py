"""Messages as the application sees them: small objects over the columns of a batch.

A message is its batch and its row.  Attributes, payloads and ticks are read from the columns when
they are first asked for, for all rows of the batch at once, because that costs a fraction of
reading them row by row; an application that looks at the payload alone never pays for attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import repeat
from types import TracebackType
from typing import Any, Final, TypeAlias

import msgspec

from penstock.client.guaranteed.acknowledgement import Piece
from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import AttributeValue
from penstock.content.rows.frame import Frame
from penstock.core.intervals import Tick

Acknowledge: TypeAlias = Callable[[Piece, int | None], None]
"""Takes a piece and the row that is done, or None for all of them."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Processing:
    """Acknowledges when its block ends without an exception; works with and without ``async``."""

    __slots__ = ("_acknowledge",)

    def __init__(self, acknowledge: Callable[[], None]) -> None:
        """``acknowledge`` is called once, at the end."""
        self._acknowledge = acknowledge

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """An exception leaves the message unacknowledged, and goes on."""
        if kind is None:
            self._acknowledge()

    async def __aenter__(self) -> None:
        """Begin."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """As without ``async``: acknowledging does not wait for anything."""
        self.__exit__(kind, error, traceback)


class MessageBatch:
    """Consecutive messages of one pubend, as they arrived together."""

    __slots__ = ("_acknowledge", "_attributes", "_columns", "_payloads", "_ticks", "frame", "piece")

    def __init__(self, piece: Piece, frame: Frame, acknowledge: Acknowledge) -> None:
        """``piece`` keeps the account of what is acknowledged."""
        self.frame = frame
        self.piece = piece
        self._acknowledge = acknowledge
        self._attributes: list[dict[str, AttributeValue]] | None = None
        self._payloads: list[bytes] | None = None
        self._ticks: list[Tick] | range | None = None
        self._columns: dict[str, list[AttributeValue | None]] = {}

    @property
    def pubend(self) -> str:
        """The stream that they stand in."""
        return self.piece.pubend

    @property
    def batch(self) -> Batch:
        """The rows as columns, without ticks."""
        return self.frame.batch

    def __len__(self) -> int:
        """How many messages."""
        return len(self.frame.ticks)

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

    @property
    def attributes(self) -> list[dict[str, AttributeValue]]:
        """The attributes of each message."""
        if self._attributes is None:
            self._attributes = self.frame.batch.attribute_rows()
        return self._attributes

    @property
    def payloads(self) -> list[bytes]:
        """The payload of each message."""
        if self._payloads is None:
            self._payloads = self.frame.batch.payload_rows()
        return self._payloads

    def column(self, name: str) -> list[AttributeValue | None]:
        """One attribute of all messages, with None where a message lacks it."""
        values = self._columns.get(name)
        if values is None:
            values = self._columns[name] = self._read_column(name)
        return values

    def _read_column(self, name: str) -> list[AttributeValue | None]:
        merged: list[AttributeValue | None] | None = None
        for column in self.frame.batch.columns:
            if column.name == name:
                values = column.values_list()
                if merged is None:
                    merged = values
                else:
                    merged = [
                        here if there is None else there
                        for there, here in zip(merged, values, strict=True)
                    ]
        return [None] * len(self) if merged is None else merged

    def ack(self) -> None:
        """The application is done with all of them."""
        self._acknowledge(self.piece, None)

    def ack_row(self, row: int) -> None:
        """The application is done with one of them."""
        self._acknowledge(self.piece, row)

    def process(self) -> Processing:
        """``async with batch.process():`` acknowledges at the end of a block that succeeds."""
        return Processing(self.ack)


class Message(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One message.  ``message["name"]`` is the quickest way to a single attribute."""

    batch: MessageBatch
    row: int

    @property
    def pubend(self) -> str:
        """The stream that it stands in."""
        return self.batch.piece.pubend

    @property
    def tick(self) -> Tick:
        """Its place in the stream: nanoseconds since 1970 by the pubend's clock."""
        return self.batch.ticks[self.row]

    @property
    def time(self) -> datetime:
        """When the pubend took it in, to the microsecond."""
        return EPOCH + timedelta(microseconds=self.tick // 1000)

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        """All attributes that it has."""
        return self.batch.attributes[self.row]

    @property
    def payload(self) -> bytes:
        """Its payload."""
        # What most applications ask of every message: a second property would take as long again.
        payloads = self.batch._payloads
        return (self.batch.payloads if payloads is None else payloads)[self.row]

    @property
    def payload_view(self) -> memoryview:
        """Its payload without copying; holds the whole batch in memory while it lives."""
        return self.batch.frame.batch.payload(self.row)

    def __getitem__(self, name: str) -> AttributeValue:
        """One attribute; ``KeyError`` if it has none of this name."""
        value = self.batch.column(name)[self.row]
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """One attribute, or the default."""
        value = self.batch.column(name)[self.row]
        return default if value is None else value

    def __contains__(self, name: object) -> bool:
        """Whether it has the attribute."""
        return isinstance(name, str) and self.batch.column(name)[self.row] is not None

    def ack(self) -> None:
        """The application is done with it."""
        self.batch.ack_row(self.row)

    def process(self) -> Processing:
        """``async with message.process():`` acknowledges at the end of a block that succeeds."""
        return Processing(self.ack)

    def __repr__(self) -> str:
        """For people: where it stands and what it says, the payload shortened."""
        payload = self.payload_view
        shown = bytes(payload[:32])
        more = f"… ({len(payload)} bytes)" if len(payload) > len(shown) else ""
        return f"Message({self.pubend!r}, {self.tick}, {self.attributes}, {shown!r}{more})"
