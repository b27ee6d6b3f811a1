"""Senders and members of a run in the network world: applications of the client library."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from random import Random
from typing import Final

from penstock.client.client import Client, connect
from penstock.client.errors import PenstockError, PublishRefusedError
from penstock.client.groups.group import Group
from penstock.client.groups.reader import JoinRefusedError
from penstock.client.groups.sender import GroupSender as ClientSender
from penstock.client.publishing.limits import PublishLimits
from penstock.core.clock import SECOND, in_seconds
from penstock.lab.oracle.multicast.clients import MemberHistory, Outcome, SenderHistory
from penstock.lab.workloads.multicast.machines import (
    ASK_EVERY_NS,
    JOIN_AGAIN_NS,
    WAIT_FOR_MEMBERS_NS,
    listed_members,
)
from penstock.lab.workloads.multicast.tables import GroupMember, GroupSender
from penstock.lab.workloads.pace import Pace, PacedSlots
from penstock.lab.workloads.visitor import FAREWELL_S, OPTIONS, Visitor, close

WATCH_EVERY_S: Final = 0.05
"""How often a sender looks whether it is connected: far more often than a broker can restart."""

SENDER_SUFFIX: Final = "/0123456789abcdef"
"""What the client library adds to a client's name to name a sender."""


class NetGroupSender:
    """A sender with a pace, the same as in the simulated world."""

    def __init__(
        self,
        history: SenderHistory,
        client: GroupSender,
        pace: Pace,
        random: Random,
        awaited: Collection[str],
        url: str,
    ) -> None:
        """Nothing happens before ``run``."""
        self.history = history
        self._client = client
        self._pace = pace
        self._slots = PacedSlots(pace, random)
        self._awaited = awaited
        self._url = url
        self._in_flight: set[asyncio.Task[None]] = set()
        self._room = asyncio.Event()
        self._present = asyncio.Event()
        self._present.set()

    def leave(self) -> None:
        """Stop sending until ``come_back``."""
        self._present.clear()

    def come_back(self) -> None:
        """Go on."""
        self._present.set()

    async def run(self) -> None:
        """Send at the pace, and wait for the outcome of every message."""
        table = self._client
        client = await connect(self._url, name=table.name, options=OPTIONS)
        watching = asyncio.get_running_loop().create_task(self._watch(client))
        try:
            await self._members_known(client)
            sender = client.groups.sender(
                *table.groups,
                must_exist=table.must_exist,
                weight=table.weight,
                limits=PublishLimits(linger_ns=0),
            )
            while not self._finished:
                await self._until_due()
                if not self._finished and not self._blocked:
                    self._submit(sender)
            if self._in_flight:
                await asyncio.wait(self._in_flight)
        finally:
            watching.cancel()
            for task in self._in_flight:
                task.cancel()
            await close(client)

    # -- members ----------------------------------------------------------------------------

    async def _watch(self, client: Client) -> None:
        """Record every connection, and which members the broker knows at its beginning."""
        connected = False
        while True:
            if client.connected and not connected:
                self.history.connected(time.time_ns())
                await self._ask(client)
            connected = client.connected
            await asyncio.sleep(WATCH_EVERY_S)

    async def _ask(self, client: Client) -> set[str]:
        known: set[str] = set()
        try:
            for group in self.history.groups:
                answer = await client.groups.members(group, deadline_s=FAREWELL_S)
                members = listed_members(answer, group)
                self.history.listed(members, time.time_ns())
                known |= members
        except PenstockError:
            # The connection was lost meanwhile: the next one is asked again.
            return set()
        return known

    async def _members_known(self, client: Client) -> None:
        """Wait until the broker knows the members that start with this sender."""
        begins_at = self._pace.start_at + WAIT_FOR_MEMBERS_NS
        while time.time_ns() < begins_at:
            if (await self._ask(client)).issuperset(self._awaited):
                return
            await asyncio.sleep(in_seconds(ASK_EVERY_NS))

    # -- sending ----------------------------------------------------------------------------

    @property
    def _finished(self) -> bool:
        limit = self._pace.messages
        done = bool(limit) and len(self.history) >= limit
        return done or time.time_ns() >= self._pace.stop_at

    @property
    def _blocked(self) -> bool:
        return self.history.unsettled >= self._pace.max_in_flight

    async def _until_due(self) -> None:
        """Wait for the next slot, for room, and for the sender to be present."""
        await self._present.wait()
        while self._blocked:
            self._room.clear()
            left_s = in_seconds(self._pace.stop_at - time.time_ns())
            if left_s <= 0:
                return
            try:
                await asyncio.wait_for(self._room.wait(), left_s)
            except TimeoutError:
                return
        if not self._pace.has_rate:
            await asyncio.sleep(0)
            return
        now = time.time_ns()
        # Slots that passed while the sender was blocked are skipped.
        while self._slots.next_at < now - SECOND:
            self._slots.advance()
        due = min(self._slots.next_at, self._pace.stop_at)
        await asyncio.sleep(max(0.0, in_seconds(due - now)))
        self._slots.advance()

    def _submit(self, sender: ClientSender) -> None:
        number = self.history.submitted(time.time_ns())
        task = asyncio.get_running_loop().create_task(self._settled(sender, number))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def _settled(self, sender: ClientSender, number: int) -> None:
        history = self.history
        try:
            (receipt,) = await sender.publish_batch(history.source.batch(number, 1))
        except PublishRefusedError as error:
            history.failed(number, Outcome.REFUSED, error.reason, time.time_ns())
        except PenstockError as error:
            history.failed(number, Outcome.UNCERTAIN, str(error), time.time_ns())
        else:
            history.confirmed(number, receipt.waited_ns, time.time_ns())
        finally:
            self._room.set()


class NetGroupMember(Visitor):
    """A member that reads at its pace."""

    def __init__(self, history: MemberHistory, client: GroupMember, url: str) -> None:
        """Nothing happens before ``run``."""
        super().__init__(client.name, url)
        self.history = history
        self._client = client
        self._joins = 0

    async def _attend(self, client: Client) -> bool:
        group = client.groups.group(self._client.group, window_bytes=self._client.window_bytes)
        self._joins = 0
        loop = asyncio.get_running_loop()
        reading = loop.create_task(self._read(group))
        watching = loop.create_task(self._watch(group))
        leaving = loop.create_task(self._leaving.wait())
        try:
            await asyncio.wait((reading, leaving), return_when=asyncio.FIRST_COMPLETED)
            self.history.left(time.time_ns())
            if reading.done():
                reading.result()
        except JoinRefusedError:
            # The broker still knows the session before this one.
            await asyncio.sleep(in_seconds(JOIN_AGAIN_NS))
        finally:
            tasks = (reading, watching, leaving)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return False

    def _note_joins(self, group: Group) -> None:
        """A join that was not seen before begins a new stay."""
        if group.joins != self._joins:
            self._joins = group.joins
            self.history.joined(time.time_ns())

    async def _read(self, group: Group) -> None:
        async with group:
            self._note_joins(group)
            while (batch := await group.next_batch()) is not None:
                self._note_joins(group)
                now = time.time_ns()
                for attributes, payload in zip(batch.attributes, batch.payloads, strict=True):
                    self.history.received(attributes, payload, now)
                if self._client.read_msgs_per_s:
                    await asyncio.sleep(len(batch) / self._client.read_msgs_per_s)

    async def _watch(self, group: Group) -> None:
        async for view in group.views():
            self._note_joins(group)
            self.history.saw_view(view.view)
