"""Datagrams for programs without an event loop: the asyncio ones, run in the client's thread.

with penstock.blocking.connect(url) as client, client.datagram("sensor-1") as datagrams:
    datagrams.publish({"kind": "reading"}, b"21.5")
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from penstock.client.blocking.loop_thread import LoopThread
from penstock.client.datagram import datagram as asynchronous
from penstock.client.datagram import subscription as asynchronous_subscription
from penstock.client.datagram.subscription import UNREAD_MESSAGES, DatagramMessage
from penstock.client.errors import Disconnected
from penstock.client.publishing.row import Attributes
from penstock.content.rows.columns import Buffer
from penstock.services.datagram.why import PublisherExplanation


class DatagramSubscription:
    """One subscription; iterate over it, or use it in a ``with`` block."""

    def __init__(
        self, thread: LoopThread, subscription: asynchronous_subscription.DatagramSubscription
    ) -> None:
        """Made by ``Datagrams.subscribe``."""
        self._thread = thread
        self._subscription = subscription

    @property
    def missed(self) -> int:
        """How many messages were dropped because nobody read them in time."""
        return self._subscription.missed

    def __enter__(self) -> Self:
        """Wait until it is in force."""
        self._thread.call(self._subscription.open())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End it."""
        self._thread.call(self._subscription.close())

    def next(self, *, deadline_s: float = math.inf) -> DatagramMessage:
        """The next message; raises ``DeadlineExceeded`` if none comes in time."""
        return self._thread.call(self._subscription.next(deadline_s=deadline_s))

    def next_batch(self, *, deadline_s: float = math.inf) -> list[DatagramMessage]:
        """Everything that is there, at least one message; raises ``DeadlineExceeded``."""
        return self._thread.call(self._subscription.next_batch(deadline_s=deadline_s))

    def __iter__(self) -> Iterator[DatagramMessage]:
        """The messages, until the subscription is closed."""
        while True:
            try:
                message = self.next()
            except Disconnected:
                return
            yield message


class Datagrams:
    """One client of the service; use it in a ``with`` block."""

    def __init__(self, thread: LoopThread, datagrams: asynchronous.Datagrams) -> None:
        """Made by ``Client.datagram``."""
        self._thread = thread
        self._datagrams = datagrams

    @property
    def address(self) -> str:
        """What other clients see as the publisher."""
        return self._datagrams.address

    def __enter__(self) -> Self:
        """Open the service at the broker."""
        self._thread.call(self._datagrams.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave."""
        self._thread.call(self._datagrams.close())

    def publish(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> None:
        """Send a message as soon as its flows allow it."""
        self._thread.call(self._datagrams.publish(attributes, payload, deadline_s=deadline_s))

    def try_publish(self, attributes: Attributes | None = None, payload: Buffer = b"") -> bool:
        """Send a message, now or when its turn comes; False if too many wait already."""

        async def attempt() -> bool:
            return self._datagrams.try_publish(attributes, payload)

        return self._thread.call(attempt())

    def subscribe(
        self, selector: str = "", *, priority: float = 1.0, unread_messages: int = UNREAD_MESSAGES
    ) -> DatagramSubscription:
        """The messages whose attributes match the selector."""

        async def make() -> asynchronous_subscription.DatagramSubscription:
            return self._datagrams.subscribe(
                selector, priority=priority, unread_messages=unread_messages
            )

        return DatagramSubscription(self._thread, self._thread.call(make()))

    def why(self) -> PublisherExplanation:
        """What holds this client's publications back."""

        async def ask() -> PublisherExplanation:
            return self._datagrams.why()

        return self._thread.call(ask())
