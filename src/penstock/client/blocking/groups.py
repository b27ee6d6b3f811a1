"""Groups for programs without an event loop: the asyncio ones, run in the client's thread."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from penstock.client.blocking.loop_thread import LoopThread
from penstock.client.blocking.publisher import Publisher
from penstock.client.groups import groups as asynchronous
from penstock.client.groups.message import GroupBatch, GroupMessage
from penstock.client.groups.reader import WINDOW_BYTES
from penstock.client.publishing.receipts import Receipt
from penstock.client.publishing.row import Attributes
from penstock.content.rows.columns import Buffer


class Groups:
    """The groups that can be reached from a client's broker."""

    def __init__(self, thread: LoopThread, groups: asynchronous.Groups) -> None:
        """Made by the blocking client."""
        self._thread = thread
        self._groups = groups

    def group(
        self, name: str, *, must_exist: bool = False, window_bytes: int = WINDOW_BYTES
    ) -> Group:
        """A group to join and to send to."""

        async def make() -> asynchronous.Group:
            return self._groups.group(name, must_exist=must_exist, window_bytes=window_bytes)

        return Group(self._thread, self._thread.call(make()))

    def inbox(self) -> Group:
        """What is sent to this client alone."""

        async def make() -> asynchronous.Group:
            return self._groups.inbox()

        return Group(self._thread, self._thread.call(make()))

    def sender(self, *groups: str, must_exist: bool = False, weight: float = 1.0) -> Publisher:
        """A sender to one or several groups, for high rates."""

        async def make() -> asynchronous.GroupSender:
            return self._groups.sender(*groups, must_exist=must_exist, weight=weight)

        return Publisher(self._thread, self._thread.call(make()))

    def members(self, group: str = "", *, deadline_s: float | None = None) -> dict[str, list[str]]:
        """Who is in a group, or in every group."""
        return self._thread.call(self._groups.members(group, deadline_s=deadline_s))

    def why(self, client: str, *, deadline_s: float | None = None) -> list[dict[str, Any]]:
        """What holds a client's senders back."""
        return self._thread.call(self._groups.why(client, deadline_s=deadline_s))


class Group:
    """One group; a member of it in a ``with`` block."""

    def __init__(self, thread: LoopThread, group: asynchronous.Group) -> None:
        """Made by ``Groups.group``; one thread at a time may use it."""
        self._thread = thread
        self._group = group

    def __enter__(self) -> Self:
        """Join."""
        self._thread.call(self._group.join())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave, when everything that was sent has its receipt."""
        self._thread.call(self._group.leave())

    @property
    def members(self) -> tuple[str, ...]:
        """Who is in the group as ``name@broker``, by the latest view."""
        return self._group.members

    @property
    def view(self) -> int:
        """The number of the latest view."""
        return self._group.view

    def wait_for_view(self, members: int, *, deadline_s: float | None = None) -> None:
        """Wait until the group has at least so many members."""
        self._thread.call(self._group.wait_for_view(members, deadline_s=deadline_s))

    def send(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> Receipt:
        """Send one message and wait until every broker with members has it."""
        return self._thread.call(self._group.send(attributes, payload, deadline_s=deadline_s))

    def __iter__(self) -> Iterator[GroupMessage]:
        """The messages, until the group is left."""
        return self.messages()

    def messages(self, *, deadline_s: float = math.inf) -> Iterator[GroupMessage]:
        """The same; raises ``DeadlineExceeded`` if none comes for so long."""
        while (batch := self._next_batch(deadline_s)) is not None:
            yield from batch

    def _next_batch(self, deadline_s: float) -> GroupBatch | None:
        return self._thread.call(self._group.next_batch(deadline_s=deadline_s))
