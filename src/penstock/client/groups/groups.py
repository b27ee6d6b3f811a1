"""Named groups, as the application sees them.

    async with client.group("prices") as group:
        await group.send({"symbol": "ACME"}, b"101.5")
        async for message in group:
            print(message.sender, message.payload, group.members)

1. Entering the block joins, leaving it leaves.  A client that only sends need not join:
   ``client.groups.sender("prices")``.
2. ``send`` waits until every broker with members has the message.  A ``sender`` takes many messages
   at a high rate; its messages arrive in order, each once.
3. What a group says while a member is not connected it does not get: ``joins`` counts how often it
   has joined, so that a program can tell.
"""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any

import msgspec

from penstock.client.facade import ServiceFacade
from penstock.client.groups.group import Group
from penstock.client.groups.producer import GROUP_LIMITS, GroupProducer
from penstock.client.groups.reader import WINDOW_BYTES, GroupReader
from penstock.client.groups.sender import GroupSender
from penstock.client.limits import check_name
from penstock.client.publishing.limits import PublishLimits
from penstock.core.message import Request
from penstock.core.why import WhyRequest
from penstock.services.multicast.messages import AskGroups


class Groups(ServiceFacade):
    """The groups that can be reached from a client's broker."""

    def group(
        self, name: str, *, must_exist: bool = False, window_bytes: int = WINDOW_BYTES
    ) -> Group:
        """A group to join and to send to.

        With ``must_exist`` sending to a group without members is an error.
        """
        check_name("group", name)
        context = self._context
        return Group(
            context.session,
            GroupReader(context.name, name, window_bytes),
            partial(self.sender, name, must_exist=must_exist),
            deadline_s=context.options.deadline_s,
        )

    def inbox(self) -> Group:
        """The group of what is sent to this client alone: ``@`` and its name."""
        return self.group(f"@{self._context.name}")

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
        context = self._context
        limits = limits or GROUP_LIMITS
        producer = GroupProducer(
            f"{context.name}/{secrets.token_hex(8)}",
            limits,
            groups=groups,
            must_exist=must_exist,
            weight=weight,
        )
        return GroupSender(
            context.session,
            producer,
            batch_rows=limits.batch_rows,
            deadline_s=context.options.deadline_s,
        )

    async def members(
        self, group: str = "", *, deadline_s: float | None = None
    ) -> dict[str, list[str]]:
        """The members of a group, or of every group, as ``name@broker``."""
        found: dict[str, list[str]] = await self._ask(AskGroups(group), deadline_s)
        return found

    async def why(self, client: str, *, deadline_s: float | None = None) -> list[dict[str, Any]]:
        """What holds a client's senders at this broker back: tree, prices, balance."""
        document = await self._ask(WhyRequest(client), deadline_s)
        found: list[dict[str, Any]] = document.get("senders", [])
        return found

    async def _ask(self, request: Request, deadline_s: float | None) -> Any:
        answer = await self._context.carry_out(request, deadline_s)
        return msgspec.json.decode(answer.document)
