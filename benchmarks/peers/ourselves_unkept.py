"""Penstock without storage: groups (reliable, in memory) and datagrams (best effort)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import penstock
from benchmarks.harness.server import Server
from benchmarks.peers.ourselves import API, ATTRIBUTES, PATIENCE_S, CallSender, url
from benchmarks.peers.peer import Durability, Receiver, Sender, Variant, nothing
from penstock.client.datagram.datagram import Datagrams
from penstock.client.datagram.subscription import DatagramSubscription
from penstock.client.groups.group import Group as JoinedGroup

GROUP: Final = "Penstock group"
DATAGRAM: Final = "Penstock datagram"
NAME: Final = "bench"


class Member:
    """Receives batches of a group."""

    def __init__(self, group: JoinedGroup) -> None:
        """The group must be joined."""
        self._group = group

    async def receive(self) -> list[bytes]:
        """The payloads of a batch."""
        batch = await self._group.next_batch(deadline_s=PATIENCE_S)
        assert batch is not None, "the group was left"
        return [message.payload for message in batch]

    async def settle(self) -> None:
        """There are no acknowledgements."""


@asynccontextmanager
async def group_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """Sends to the group without being a member."""
    async with penstock.connect(url(server)) as client:
        sender = client.groups.sender(NAME)
        await sender.open()
        yield CallSender(sender, [ATTRIBUTES])


@asynccontextmanager
async def group_member(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """A member."""
    async with penstock.connect(url(server), name=name) as client, client.group(NAME) as group:
        yield Member(group)


class DatagramSender:
    """One call for each message; it is sent immediately, or when its flow's quota allows."""

    def __init__(self, datagrams: Datagrams) -> None:
        """The service must be open."""
        self._datagrams = datagrams

    def encode(self, payloads: list[bytes]) -> list[bytes]:
        """Nothing to encode: the API takes payloads."""
        return payloads

    async def send(self, burst: Any, count: int) -> None:
        """Call by call."""
        for payload in burst:
            await self._datagrams.publish(ATTRIBUTES, payload, deadline_s=PATIENCE_S)

    async def settle(self) -> None:
        """There are no confirmations."""


class DatagramReceiver:
    """Receives batches of datagrams."""

    def __init__(self, subscription: DatagramSubscription) -> None:
        """The subscription must be in force."""
        self._subscription = subscription

    async def receive(self) -> list[bytes]:
        """The payloads of a batch."""
        batch = await self._subscription.next_batch(deadline_s=PATIENCE_S)
        return [message.payload for message in batch]

    async def settle(self) -> None:
        """There are no acknowledgements."""


@asynccontextmanager
async def datagram_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A publisher of the datagram service."""
    async with penstock.connect(url(server)) as client, client.datagram("sender") as datagrams:
        yield DatagramSender(datagrams)


@asynccontextmanager
async def datagram_receiver(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """A subscriber of the datagram service."""
    async with (
        penstock.connect(url(server)) as client,
        client.datagram(name, publishes=False) as datagrams,
        datagrams.subscribe(f"topic = '{ATTRIBUTES['topic']}'") as subscription,
    ):
        yield DatagramReceiver(subscription)


VARIANTS: Final = (
    Variant(
        GROUP,
        Durability.NOTHING,
        group_sender,
        group_member,
        nothing,
        nothing,
        part=2.0,
        client=API,
        keeps=False,
    ),
    Variant(
        DATAGRAM,
        Durability.NOTHING,
        datagram_sender,
        datagram_receiver,
        nothing,
        nothing,
        client=API,
        keeps=False,
        loses=True,
    ),
)
