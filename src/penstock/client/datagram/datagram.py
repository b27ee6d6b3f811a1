"""The datagram service for applications: best effort, lowest delay, and no congestion collapse.

    async with client.datagram("sensor-1") as datagrams:
        await datagrams.publish({"kind": "reading"}, b"21.5")

    async with client.datagram() as datagrams:
        async for message in datagrams.subscribe("kind = 'reading'"):
            print(message.payload)

1. Nothing is acknowledged and nothing is repeated.  ``publish`` returns when the message has left
   this process; how long that takes is decided by the rate that its flows are allowed.
2. A message whose flows are at their limit waits, up to ``queue_messages`` in a flow; then
   ``publish`` waits for a place, until its deadline.
3. A message that may go now goes without waiting for anything; what is published in one turn of
   the event loop shares datagrams.  After ``TURN_MESSAGES`` the loop has a turn, so that a program
   that does nothing but publish still hears the reports that slow it down.
4. After a lost connection subscriptions are made again; what waited is given up.
5. All publishers and subscriptions of a client share one address, ``name@broker``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from penstock.client.closable import Closable
from penstock.client.datagram.driver import DatagramDriver
from penstock.client.datagram.row import checked_attributes
from penstock.client.datagram.subscription import (
    UNREAD_MESSAGES,
    DatagramMessage,
    DatagramSubscription,
)
from penstock.client.errors import (
    DeadlineExceeded,
    Disconnected,
    MessageTooLarge,
    PenstockError,
    SubscribeRefusedError,
)
from penstock.client.publishing.row import Attributes, as_bytes
from penstock.client.session import Session
from penstock.client.waiting import deadline
from penstock.content.rows.columns import Buffer
from penstock.core.clock import NEVER, Instant, seconds
from penstock.core.machine import Effect
from penstock.core.message import DATAGRAMS
from penstock.services.datagram.messages import Attribute, CloseDatagram, Publication
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.peer import (
    DatagramPeer,
    DeliverPublication,
    DeliverTogether,
    NotOpen,
    PeerOpened,
    PeerSubscribed,
    PublicationSettled,
)
from penstock.services.datagram.publisher.control import QueueFull, TooLarge
from penstock.services.datagram.why import PublisherExplanation, explain

TURN_MESSAGES: Final = 256
"""Messages that may be published before the event loop has a turn: a few milliseconds of work."""


class DatagramsRefused(PenstockError):
    """The broker refused the client, and said why."""

    def __init__(self, name: str, reason: str) -> None:
        """``name`` is the one that was asked for."""
        super().__init__(f"datagram client {name!r} was refused: {reason}")
        self.name = name
        self.reason = reason


class Datagrams(Closable):
    """One client of the service; use it as an ``async with`` block."""

    name: str
    address: str
    """What subscribers see as the publisher: ``name@broker``; empty until it is open."""
    parameters: DatagramParameters

    def __init__(
        self,
        session: Session,
        name: str,
        parameters: DatagramParameters,
        *,
        publishes: bool,
        deadline_s: float,
    ) -> None:
        """Made by ``Client.datagram``."""
        self.name = name
        self.address = ""
        self.parameters = parameters
        self._session = session
        self._deadline_s = deadline_s
        self._loop = asyncio.get_running_loop()
        self._peer = DatagramPeer(name, parameters, publishes=publishes)
        self._driver = DatagramDriver(
            session,
            self._peer,
            on_effect=self._take_in,
            on_bound=self._open_if_ready,
            on_end=self._end,
        )
        self._clock = self._driver.clock
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._in_force: dict[int, asyncio.Future[None]] = {}
        self._subscriptions: dict[int, DatagramSubscription] = {}
        self._settling: dict[int, asyncio.Future[bool]] = {}
        self._places: deque[asyncio.Future[None]] = deque()
        self._joined = False
        self._last_filter = 0
        self._last_token = 0
        self._ended: PenstockError | None = None

    async def _enter(self) -> None:
        await self.open()

    async def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the broker has opened the service; raises ``DatagramsRefused``."""
        self._raise_if_ended()
        if self._joined:
            await self._wait_open(deadline_s)
            return
        try:
            self._session.join(DATAGRAMS, self._driver)
        except ValueError:
            raise ValueError(
                "this client uses the datagram service already: close that use, or connect another "
                "client"
            ) from None
        self._joined = True
        try:
            await self._wait_open(deadline_s)
        except BaseException:
            await self.close()
            raise

    async def _wait_open(self, deadline_s: float | None) -> None:
        limit_s = self._deadline_s if deadline_s is None else deadline_s
        async with deadline(limit_s, lambda: f"datagrams are not open; {self._session.describe()}"):
            await asyncio.shield(self._opened)

    async def close(self, *, deadline_s: float | None = None) -> None:
        """Stop publishing and receiving; the name is free again.

        Nothing is waited for: what is best effort has nothing to finish.
        """
        if self._ended is not None:
            return
        self._end(Disconnected(f"datagram client {self.name!r} is closed"))
        if not self._joined:
            return
        self._driver.say(CloseDatagram())
        # The farewell is collected at the end of this turn of the loop.
        await asyncio.sleep(0)
        self._session.leave(DATAGRAMS)

    # -- publishing -------------------------------------------------------------------------

    async def publish(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> None:
        """Send a message as soon as its flows allow it.

        Raises ``MessageTooLarge``, ``Disconnected``, and ``DeadlineExceeded`` with what held it
        back.
        """
        limit_s = self._deadline_s if deadline_s is None else deadline_s
        row = checked_attributes(attributes)
        body = payload if type(payload) is bytes else as_bytes(payload)
        now = self._clock.now()
        expires_at = now + seconds(limit_s) if limit_s < 1e9 else NEVER
        try:
            waiting = self._submit(row, body, now, expires_at)
        except QueueFull:
            await self._publish_later(row, body, expires_at, limit_s)
            return
        if waiting is not None:
            async with deadline(limit_s, self._why_waiting):
                await self._settle(waiting, limit_s)
        elif self._driver.sent_in_turn >= TURN_MESSAGES:
            await asyncio.sleep(0)

    async def _publish_later(
        self, row: dict[str, Attribute], body: bytes, expires_at: Instant, limit_s: float
    ) -> None:
        """Wait for a place in the flow's queue, and then for the message's turn."""
        async with deadline(limit_s, self._why_waiting):
            while True:
                place = self._loop.create_future()
                self._places.append(place)
                await place
                try:
                    waiting = self._submit(row, body, self._clock.now(), expires_at)
                    break
                except QueueFull:
                    continue
            if waiting is not None:
                await self._settle(waiting, limit_s)

    async def _settle(self, waiting: asyncio.Future[bool], limit_s: float) -> None:
        """Until a message that waits has gone; raises ``DeadlineExceeded`` if it was given up."""
        if not await waiting:
            self._raise_if_ended()
            raise DeadlineExceeded(f"after {limit_s:g} s: {self._why_waiting()}")

    def try_publish(self, attributes: Attributes | None = None, payload: Buffer = b"") -> bool:
        """Send a message, now or when its turn comes; False if too many wait already."""
        try:
            row, body = checked_attributes(attributes), as_bytes(payload)
            self._submit(row, body, self._clock.now(), NEVER)
        except QueueFull:
            return False
        return True

    def _submit(
        self, attributes: dict[str, Attribute], payload: bytes, now: Instant, expires_at: Instant
    ) -> asyncio.Future[bool] | None:
        """Hand a message to the machine; a future if it waits."""
        if self._ended is not None:
            self._raise_if_ended()
        self._last_token += 1
        try:
            effects = self._peer.publish(
                self._last_token, attributes, payload, now=now, expires_at=expires_at
            )
        except TooLarge as error:
            raise MessageTooLarge(str(error)) from None
        except NotOpen as error:
            raise Disconnected(f"{error}; {self._session.describe()}") from None
        # A message that goes at once changes no deadline; one that waits may.
        self._driver.carry_out(effects, deadlines_changed=not effects)
        if effects:
            return None
        waiting: asyncio.Future[bool] = self._loop.create_future()
        self._settling[self._last_token] = waiting
        return waiting

    def why(self) -> PublisherExplanation:
        """What holds this client's publications back."""
        if self._peer.publishing is None:
            raise Disconnected(f"datagram client {self.name!r}: {self._session.describe()}")
        return explain(self._peer.publishing, self._clock.now())

    def _why_waiting(self) -> str:
        control = self._peer.publishing
        if control is None:
            return f"not connected; {self._session.describe()}"
        flows = explain(control, self._clock.now()).flows
        if not flows:
            return "no flow is controlled"
        slowest = flows[0]
        return (
            f"{slowest.limiting_receiver} limits {slowest.selector!r} to "
            f"{slowest.quota_msgs_per_s:.3g} messages a second (loss event rate "
            f"{slowest.loss_event_rate:.2g}, round trip {1000 * slowest.round_trip_s:.0f} ms), "
            f"{slowest.waiting_messages} wait"
        )

    # -- subscribing ------------------------------------------------------------------------

    def subscribe(
        self,
        selector: str = "",
        *,
        priority: float = 1.0,
        unread_messages: int = UNREAD_MESSAGES,
    ) -> DatagramSubscription:
        """The messages whose attributes match the selector.

        Where the network does not carry everything, a subscription of ``priority`` 2 gets twice
        the rate of one of 1.  Raises ``SelectorError`` (a ``ValueError``) if the selector is none.
        """
        self._raise_if_ended()
        self._last_filter += 1
        number = self._last_filter
        effects = self._peer.subscribe(number, selector, priority)
        in_force: asyncio.Future[None] = self._loop.create_future()
        self._in_force[number] = in_force

        async def close() -> None:
            self._subscriptions.pop(number, None)
            self._in_force.pop(number, None)
            self._driver.carry_out(self._peer.unsubscribe(number))

        subscription = DatagramSubscription(
            selector, in_force, close, unread_messages, self._deadline_s
        )
        self._subscriptions[number] = subscription
        self._driver.carry_out(effects)
        return subscription

    # -- effects of the machine, and the end of the session ----------------------------------

    def _end(self, error: PenstockError) -> None:
        if self._ended is not None:
            return
        self._ended = error
        self._driver.close()
        for subscription in self._subscriptions.values():
            subscription._end(error)
        for future in (self._opened, *self._in_force.values(), *self._places):
            if not future.done():
                future.set_exception(error)
                # It may have no waiter, and asyncio logs exceptions that are never retrieved.
                future.exception()
        for settling in self._settling.values():
            if not settling.done():
                settling.set_result(False)

    def _raise_if_ended(self) -> None:
        if self._ended is not None:
            raise self._ended.with_traceback(None)

    def _open_if_ready(self) -> None:
        if self.address and self._driver.bound and not self._opened.done():
            self._opened.set_result(None)

    def _take_in(self, effect: Effect) -> None:
        match effect:
            case DeliverTogether(publications, filter_ids):
                self._deliver(publications, filter_ids)
            case DeliverPublication(publication, matched):
                self._deliver((publication,), (matched,))
            case PublicationSettled(token, sent):
                self._settled(token, sent)
            case PeerOpened(address, problem):
                self._peer_opened(address, problem)
            case PeerSubscribed(filter_id, problem):
                self._peer_subscribed(filter_id, problem)

    def _deliver(
        self, publications: Sequence[Publication], filter_ids: Sequence[tuple[int, ...]]
    ) -> None:
        told: dict[int, list[DatagramMessage]] = {}
        for publication, matched in zip(publications, filter_ids, strict=True):
            message = DatagramMessage(
                publication.source,
                publication.sequence,
                publication.sent_at,
                publication.attributes,
                publication.payload,
            )
            for filter_id in matched:
                if filter_id in told:
                    told[filter_id].append(message)
                else:
                    told[filter_id] = [message]
        for filter_id, messages in told.items():
            subscription = self._subscriptions.get(filter_id)
            if subscription is not None:
                subscription._deliver(messages)

    def _settled(self, token: int, sent: bool) -> None:
        waiting = self._settling.pop(token, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(sent)
        while self._places:
            place = self._places.popleft()
            if not place.done():
                place.set_result(None)
                break

    def _peer_opened(self, address: str, problem: str) -> None:
        if problem:
            if not self._opened.done():
                self._opened.set_exception(DatagramsRefused(self.name, problem))
                self._opened.exception()
            return
        self.address = address
        self._open_if_ready()

    def _peer_subscribed(self, filter_id: int, problem: str) -> None:
        in_force = self._in_force.get(filter_id)
        if problem:
            refused = SubscribeRefusedError(f"filter {filter_id}", problem)
            subscription = self._subscriptions.pop(filter_id, None)
            if subscription is not None:
                subscription._end(refused)
            if in_force is not None and not in_force.done():
                in_force.set_exception(refused)
                in_force.exception()
        elif in_force is not None and not in_force.done():
            in_force.set_result(None)
