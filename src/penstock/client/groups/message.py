"""Messages to groups as the application sees them: small objects over the columns of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import msgspec

from penstock.content.rows.columns import AttributeValue
from penstock.services.multicast.messages import GroupDelivery


class GroupBatch:
    """Messages of one sender, as they arrived together."""

    __slots__ = ("_attributes", "_payloads", "delivery")

    def __init__(self, delivery: GroupDelivery) -> None:
        """Columns are read when somebody asks."""
        self.delivery = delivery
        self._attributes: list[dict[str, AttributeValue]] | None = None
        self._payloads: list[bytes] | None = None

    def __len__(self) -> int:
        """How many messages."""
        return len(self.delivery.batch)

    def __iter__(self) -> Iterator[GroupMessage]:
        """The messages in order."""
        return map(GroupMessage, repeat(self), range(len(self)))

    @property
    def attributes(self) -> list[dict[str, AttributeValue]]:
        """The attributes of each message."""
        if self._attributes is None:
            self._attributes = self.delivery.batch.attribute_rows()
        return self._attributes

    @property
    def payloads(self) -> list[bytes]:
        """The payload of each message."""
        if self._payloads is None:
            self._payloads = self.delivery.batch.payload_rows()
        return self._payloads


class GroupMessage(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One message to a group."""

    batch: GroupBatch
    row: int

    @property
    def sender(self) -> str:
        """Who sent it: the name of its client, and of the sender there."""
        return self.batch.delivery.sender

    @property
    def sequence(self) -> int:
        """Its number among the messages of its sender."""
        return self.batch.delivery.first_sequence + self.row

    @property
    def groups(self) -> tuple[str, ...]:
        """All groups that it was sent to."""
        return self.batch.delivery.groups

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

    def __repr__(self) -> str:
        """For people: who says what, the payload shortened."""
        shown = self.payload[:32]
        more = f"… ({len(self.payload)} bytes)" if len(self.payload) > len(shown) else ""
        return f"GroupMessage({self.sender!r}, {self.attributes}, {shown!r}{more})"
