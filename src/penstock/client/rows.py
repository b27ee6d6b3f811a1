"""Messages as the application sees them: small objects over the columns of a batch.

A message is its batch and its row.  Attributes, payloads and single columns are read from the batch
when they are first asked for, for all rows at once, because that costs a fraction of reading them
row by row; an application that looks at the payload alone never pays for attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

import msgspec

from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import AttributeValue

Subject = TypeVar("Subject")

SHOWN_BYTES: Final = 32
"""How much of a payload ``repr`` shows: a line of a terminal has room for it."""


class RowBatch:
    """Messages that arrived together, as columns."""

    __slots__ = ("_attributes", "_columns", "_payloads", "batch")

    def __init__(self, batch: Batch) -> None:
        """``batch`` has one row for each message."""
        self.batch = batch
        self._attributes: list[dict[str, AttributeValue]] | None = None
        self._payloads: list[bytes] | None = None
        self._columns: dict[str, list[AttributeValue | None]] = {}

    def __len__(self) -> int:
        """How many messages."""
        return len(self.batch)

    @property
    def attributes(self) -> list[dict[str, AttributeValue]]:
        """The attributes of each message."""
        if self._attributes is None:
            self._attributes = self.batch.attribute_rows()
        return self._attributes

    @property
    def payloads(self) -> list[bytes]:
        """The payload of each message."""
        if self._payloads is None:
            self._payloads = self.batch.payload_rows()
        return self._payloads

    def column(self, name: str) -> list[AttributeValue | None]:
        """One attribute of all messages, with None where a message lacks it."""
        values = self._columns.get(name)
        if values is None:
            values = self._columns[name] = self._read_column(name)
        return values

    def _read_column(self, name: str) -> list[AttributeValue | None]:
        merged: list[AttributeValue | None] | None = None
        for column in self.batch.columns:
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


class RowMessage(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One message.  ``message["name"]`` is the quickest way to a single attribute."""

    batch: RowBatch
    row: int

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
        return self.batch.batch.payload(self.row)

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

    def _shown(self, *place: object) -> str:
        """For ``repr``: where it stands and what it says, the payload shortened."""
        payload = self.payload_view
        shown = bytes(payload[:SHOWN_BYTES])
        more = f"… ({len(payload)} bytes)" if len(payload) > len(shown) else ""
        where = ", ".join(map(repr, place))
        return f"{type(self).__name__}({where}, {self.attributes}, {shown!r}{more})"


class Processing(Generic[Subject]):
    """Settles a message at the end of a block; works with and without ``async``."""

    __slots__ = ("_done", "_failed", "_subject")

    def __init__(
        self,
        subject: Subject,
        done: Callable[[], None],
        failed: Callable[[], None] | None = None,
    ) -> None:
        """``done`` is called when the block succeeds, ``failed`` when it raises an exception."""
        self._subject = subject
        self._done = done
        self._failed = failed

    def __enter__(self) -> Subject:
        """Gives what is being processed."""
        return self._subject

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """The exception goes on."""
        if kind is None:
            self._done()
        elif self._failed is not None:
            self._failed()

    async def __aenter__(self) -> Subject:
        """Gives what is being processed."""
        return self._subject

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """As without ``async``: settling does not wait for anything."""
        self.__exit__(kind, error, traceback)
