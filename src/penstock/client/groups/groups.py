"""Named groups, as the application sees them.

    async with client.group("prices") as group:
        await group.send({"symbol": "ACME"}, b"101.5")
        async for message in group:
            print(message.sender, message.payload, group.members)

1. Entering the block joins, leaving it leaves.  Whoever only sends need not join:
   ``client.groups.sender("prices")``.
2. ``send`` waits until every broker with members has the message.  A ``sender`` takes many messages
   at a high rate; its messages arrive in order, each once.
3. What a group says while a member is not connected it does not get: ``joins`` counts how often it
   has joined, so that a program can tell.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import AsyncIterator
from functools import partial
from types import TracebackType
from typing import Any

import msgspec

from penstock.client.client import ClientOptions
from penstock.client.errors import PenstockError
from penstock.client.groups.message import GroupBatch, GroupMessage
from penstock.client.groups.producer import GROUP_LIMITS, GroupProducer
from penstock.client.groups.reader import WINDOW_BYTES, GroupReader
from penstock.client.life_cycle import ReaderPhase
from penstock.client.limits import check_name
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.publisher import Publisher
from penstock.client.publishing.receipts import Receipt
from penstock.client.publishing.row import Attributes
from penstock.client.queue_requests import QueueRequests
from penstock.client.reading import Reading
from penstock.client.session import Session
from penstock.client.waiting import deadline
from penstock.content.rows.columns import Buffer
from penstock.core.message import participant_key
from penstock.services.multicast.messages import (
    MEMBER,
    REQUESTS,
    AskGroups,
    GroupSenderOpened,
    GroupView,
    WhySender,
)


class JoinRefusedError(PenstockError):
    """The broker does not let us into a group, and said why."""

    def __init__(self, group: str, reason: str) -> None:
        """``reason`` is the broker's word."""
        super().__init__(f"cannot join group {group!r}: {reason}")
        self.group = group
        self.reason = reason


class GroupSender(Publisher):
    """A publisher whose messages go to groups; a receipt says that all members' brokers have it."""

    def received(self, message: Any) -> None:
        """An answer."""
        super().received(message)
        if isinstance(message, GroupSenderOpened):
            self._resolve_open()


class Groups:
    """The groups that can be reached from a client's broker."""

    def __init__(self, session: Session, name: str, options: ClientOptions) -> None:
        """Made by ``Client.groups``; ``name`` is the client's, and its members'."""
        self._session = session
        self._name = name
        self._options = options
        self._requests = QueueRequests(session, REQUESTS)

    def group(
        self, name: str, *, must_exist: bool = False, window_bytes: int = WINDOW_BYTES
    ) -> Group:
        """A group to join and to send to; ``must_exist`` makes sending to nobody an error."""
        check_name("group", name)
        reader = GroupReader(self._name, name, window_bytes)
        return Group(self._session, reader, partial(self.sender, name, must_exist=must_exist))

    def inbox(self) -> Group:
        """What is sent to this client alone: to ``@`` and its name."""
        return self.group(f"@{self._name}")

    def sender(
        self,
        *groups: str,
        must_exist: bool = False,
        weight: float = 1.0,
        limits: PublishLimits | None = None,
    ) -> GroupSender:
        """A sender to one or several groups; ``@name`` is one client's inbox.

        Its ``publish`` waits for the receipt, its ``send`` only for room, its ``flush`` for all
        receipts.  A member of several of the groups gets each message once.
        """
        if not groups:
            raise ValueError("a sender needs at least one group")
        for group in groups:
            check_name("group", group)
        limits = limits or GROUP_LIMITS
        producer = GroupProducer(
            f"{self._name}/{secrets.token_hex(8)}",
            limits,
            groups=groups,
            must_exist=must_exist,
            weight=weight,
        )
        return GroupSender(
            self._session,
            producer,
            batch_rows=limits.batch_rows,
            deadline_s=self._options.deadline_s,
        )

    async def members(
        self, group: str = "", *, deadline_s: float | None = None
    ) -> dict[str, list[str]]:
        """Who is in a group, or in every group, as ``name@broker``."""
        found: dict[str, list[str]] = await self._ask(partial(_ask_groups, group), deadline_s)
        return found

    async def why(self, client: str, *, deadline_s: float | None = None) -> list[dict[str, Any]]:
        """What holds a client's senders at this broker back: tree, prices, balance."""
        found: list[dict[str, Any]] = await self._ask(partial(_why_sender, client), deadline_s)
        return found

    async def _ask(self, make: Any, deadline_s: float | None) -> Any:
        limit_s = self._options.deadline_s if deadline_s is None else deadline_s
        answer = await self._requests.ask(make, limit_s)
        return msgspec.json.decode(answer.document)


def _ask_groups(group: str, number: int) -> AskGroups:
    return AskGroups(number, group)


def _why_sender(client: str, number: int) -> WhySender:
    return WhySender(number, client)


class Group(Reading):
    """One group: a member of it in an ``async with`` block, a way to send to it at any time."""

    def __init__(self, session: Session, reader: GroupReader, open_sender: Any) -> None:
        """Made by ``Groups.group``."""
        super().__init__(reader)
        self._session = session
        self._reader = reader
        self._open_sender = open_sender
        self._sender: GroupSender | None = None
        self._key = participant_key(MEMBER, reader.member, reader.group)
        self._entered = False

    @property
    def name(self) -> str:
        """The group's name."""
        return self._reader.group

    @property
    def members(self) -> tuple[str, ...]:
        """Who is in the group as ``name@broker``, by the latest view."""
        view = self._reader.view
        return () if view is None else view.members

    @property
    def view(self) -> int:
        """The number of the latest view; it grows while one broker is connected to."""
        view = self._reader.view
        return 0 if view is None else view.view

    @property
    def joins(self) -> int:
        """How often this member has joined: more than once means that it was away in between."""
        return self._reader.joins

    # -- joining and leaving ----------------------------------------------------------------

    async def __aenter__(self) -> Group:
        """Join."""
        await self.join()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave, when everything that was sent has its receipt."""
        await self.leave()

    async def join(self, *, deadline_s: float | None = None) -> None:
        """Wait until this client is in the group and has its first view."""
        if not self._entered:
            self._session.join(self._key, self)
            self._entered = True
        async with deadline(self._limit_s(deadline_s), lambda: self._describe("not joined")):
            while self._reader.phase is not ReaderPhase.OPEN or (
                self._reader.view is None and not self.name.startswith("@")
            ):
                self._raise_end()
                await self._wait()

    async def leave(self, *, deadline_s: float | None = None) -> None:
        """Send no more, and be a member no more."""
        if self._sender is not None:
            sender, self._sender = self._sender, None
            await sender.close(deadline_s=deadline_s)
        if not self._entered or self._reader.is_over:
            return
        self._reader.close()
        self._session.wake(self._key)
        async with deadline(self._limit_s(deadline_s), lambda: self._describe("not left")):
            while not self._reader.is_over and self._end is None:
                await self._wait()
        # What was taken last is told before the key is given up.
        await asyncio.sleep(0)
        self._session.leave(self._key)

    async def farewell(self, deadline_s: float | None) -> None:
        """Leave the group."""
        await self.leave(deadline_s=deadline_s)

    async def wait_for_view(self, members: int, *, deadline_s: float | None = None) -> None:
        """Wait until the group has at least so many members."""
        async with deadline(
            self._limit_s(deadline_s), lambda: self._describe(f"{len(self.members)} members")
        ):
            while len(self.members) < members:
                self._raise_end()
                await self._wait()

    async def views(self) -> AsyncIterator[GroupView]:
        """Every view from the first on, in order, until the group is left."""
        views = self._reader.views
        while True:
            while views:
                yield views.popleft()
            if self._reader.is_over or self._end is not None:
                return
            await self._wait()

    # -- sending ----------------------------------------------------------------------------

    async def send(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> Receipt:
        """Send one message and wait until every broker with members has it."""
        return await self.sender.publish(attributes, payload, deadline_s=deadline_s)

    @property
    def sender(self) -> GroupSender:
        """The sender to this group, for high rates."""
        if self._sender is None:
            self._sender = self._open_sender()
        return self._sender

    # -- reading ----------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[GroupMessage]:
        """The messages, until the group is left."""
        return self.messages()

    async def messages(self, *, deadline_s: float = math.inf) -> AsyncIterator[GroupMessage]:
        """The same; raises ``DeadlineExceeded`` if none comes for so long."""
        while (batch := await self.next_batch(deadline_s=deadline_s)) is not None:
            for message in batch:
                yield message

    async def next_batch(self, *, deadline_s: float = math.inf) -> GroupBatch | None:
        """The next messages that arrived together; None when the group was left."""
        reader = self._reader
        async with deadline(deadline_s, lambda: self._describe("nothing came")):
            while not reader.deliveries:
                if reader.is_over and not reader.problem and self._end is None:
                    return None
                self._raise_end()
                await self._wait()
        delivery = reader.take()
        if reader.owes_word:
            self._session.wake(self._key)
        return GroupBatch(delivery)

    def _raise_end(self) -> None:
        if self._end is not None:
            raise self._end.with_traceback(None)
        if self._reader.problem:
            raise JoinRefusedError(self.name, self._reader.problem)

    def _limit_s(self, deadline_s: float | None) -> float:
        return DEADLINE_S if deadline_s is None else deadline_s

    def _describe(self, what: str) -> str:
        return f"group {self.name!r}: {what}; {self._session.describe()}"


DEADLINE_S = 30.0
"""How long joining and leaving may take, as any call of a client."""
