"""One group, as the application sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

from penstock.client.groups.message import GroupBatch, GroupMessage
from penstock.client.groups.reader import GroupReader
from penstock.client.groups.sender import GroupSender
from penstock.client.publishing.receipts import Receipt
from penstock.client.publishing.row import Attributes
from penstock.client.reading import Reading
from penstock.client.session import Session
from penstock.client.waiting import deadline
from penstock.content.rows.columns import Buffer
from penstock.core.message import participant_key
from penstock.services.multicast.messages import MEMBER, GroupView


class Group(Reading[GroupBatch, GroupMessage]):
    """One group: a member of it in an ``async with`` block, a way to send to it at any time."""

    def __init__(
        self,
        session: Session,
        reader: GroupReader,
        open_sender: Callable[[], GroupSender],
        *,
        deadline_s: float,
    ) -> None:
        """Made by ``Groups.group``."""
        self._reader = reader
        key = participant_key(MEMBER, reader.member, reader.group)
        what = f"group {reader.group!r}"
        super().__init__(session, key, reader, what=what, deadline_s=deadline_s)
        self._open_sender = open_sender
        self._sender: GroupSender | None = None

    @property
    def name(self) -> str:
        """The group's name."""
        return self._reader.group

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the group as ``name@broker``, by the latest view."""
        view = self._reader.view
        return () if view is None else view.members

    @property
    def view(self) -> int:
        """The number of the latest view; it grows as long as the client stays at one broker."""
        view = self._reader.view
        return 0 if view is None else view.view

    @property
    def joins(self) -> int:
        """How often this member has joined: more than once means that it was away in between."""
        return self._reader.joins

    # -- joining and leaving ----------------------------------------------------------------

    @property
    def _is_open(self) -> bool:
        """A member also has its first view; an inbox has no views."""
        has_view = self._reader.view is not None or self.name.startswith("@")
        return super()._is_open and has_view

    async def join(self, *, deadline_s: float | None = None) -> None:
        """Another name for ``open``: wait until this client is a member and has its first view."""
        await self.open(deadline_s=deadline_s)

    async def leave(self, *, deadline_s: float | None = None) -> None:
        """Another name for ``close``."""
        await self.close(deadline_s=deadline_s)

    async def close(self, *, deadline_s: float | None = None) -> None:
        """Wait for the receipts of what was sent, send no more, and leave the group."""
        if self._sender is not None:
            await self._sender.close(deadline_s=deadline_s)
        await super().close(deadline_s=deadline_s)

    async def wait_for_view(self, members: int, *, deadline_s: float | None = None) -> None:
        """Wait until the group has at least this many members."""
        async with deadline(
            self._limit_s(deadline_s), lambda: self._describe(f"it has {len(self.members)} members")
        ):
            while len(self.members) < members:
                self._raise_if_over()
                await self._driver.wait()

    async def views(self) -> AsyncIterator[GroupView]:
        """Every view from the first on, in order, until the group is left."""
        views = self._reader.views
        while True:
            while views:
                yield views.popleft()
            if self._reader.is_over:
                return
            await self._driver.wait()

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
            if self._closed:
                raise self._closed_error()
            self._sender = self._open_sender()
        return self._sender

    # -- reading ----------------------------------------------------------------------------

    def _take(self) -> GroupBatch | None:
        reader = self._reader
        if not reader.deliveries:
            return None
        delivery = reader.take()
        if reader.owes_word:
            self._driver.wake()
        return GroupBatch(delivery)

    def _rows_of(self, batch: GroupBatch) -> Iterator[GroupMessage]:
        return iter(batch)
