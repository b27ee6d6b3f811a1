"""Messages to groups: rows that one sender numbered."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from penstock.client.rows import RowBatch, RowMessage
from penstock.services.multicast.messages import GroupDelivery


class GroupBatch(RowBatch):
    """Messages of one sender, as they arrived together."""

    __slots__ = ("delivery",)

    def __init__(self, delivery: GroupDelivery) -> None:
        """Made by ``Group``."""
        super().__init__(delivery.batch)
        self.delivery = delivery

    def __iter__(self) -> Iterator[GroupMessage]:
        """The messages in order."""
        return map(GroupMessage, repeat(self), range(len(self)))


class GroupMessage(RowMessage, frozen=True, eq=False, gc=False):
    """One message to a group."""

    batch: GroupBatch
    row: int

    @property
    def sender(self) -> str:
        """The client that sent it and the name of its sender there."""
        return self.batch.delivery.sender

    @property
    def sequence(self) -> int:
        """Its number among the messages of its sender."""
        return self.batch.delivery.first_sequence + self.row

    @property
    def groups(self) -> tuple[str, ...]:
        """All groups that it was sent to."""
        return self.batch.delivery.groups

    def __repr__(self) -> str:
        """For people: its sender and what it says."""
        return self._shown(self.sender)
