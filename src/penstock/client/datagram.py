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
3. After a lost connection subscriptions are made again; what waited is given up.
4. All publishers and subscriptions of a client share one address, ``name@broker``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Any, Final, Self

from penstock.client.datagram_row import checked_attributes
from penstock.client.datagram_socket import ClientDatagramSocket
from penstock.client.datagram_subscription import (
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
from penstock.client.row import Attributes, as_bytes
from penstock.client.session import DATAGRAMS, Session
from penstock.client.waiting import deadline
from penstock.content.columns import Buffer
from penstock.core.clock import NEVER, Instant, in_seconds, seconds
from penstock.core.datagrams import SendBestEffort
from penstock.core.machine import DeadlineReached, Effect, Fact, LinkDown, LinkUp, Received, Send
from penstock.core.message import Message
from penstock.datagram.explanation import PublisherExplanation, explain
from penstock.datagram.messages import (
    Attribute,
    CloseDatagram,
    DatagramSocketOffer,
    DatagramSocketRequest,
)
from penstock.datagram.parameters import DatagramParameters
from penstock.datagram.peer import (
    BROKER,
    DatagramPeer,
    DeliverPublication,
    NotOpen,
    PeerOpened,
    PeerSubscribed,
    PublicationSettled,
)
from penstock.datagram.publisher_control import QueueFull, TooLarge
from penstock.net.wall_clock import WallClock

LEAST_WAIT_S: Final = 0.0005
"""A timer of the event loop is not finer; a shorter one would spin."""


class DatagramsRefused(PenstockError):
    """The broker does not let the client use the service; ``reason`` is its word."""

    def __init__(self, name: str, reason: str) -> None:
        """``name`` is the one that was asked for."""
        super().__init__(f"datagram client {name!r} was refused: {reason}")
        self.name = name
        self.reason = reason


class Datagrams:
    """One client of the service; use it as an ``async with`` block."""

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
        self._clock = WallClock()
        self._loop = asyncio.get_running_loop()
        self._peer = DatagramPeer(name, parameters, publishes=publishes)
        self._socket: ClientDatagramSocket | None = None
        self._opening: asyncio.Task[None] | None = None
        self._unsent: list[Message] = []
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._in_force: dict[int, asyncio.Future[None]] = {}
        self._subscriptions: dict[int, DatagramSubscription] = {}
        self._settling: dict[int, asyncio.Future[bool]] = {}
        self._places: deque[asyncio.Future[None]] = deque()
        self._last_filter = 0
        self._last_token = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: Instant = NEVER
        self._ended: PenstockError | None = None

    async def __aenter__(self) -> Self:
        """Open the service at the broker; raises ``DatagramsRefused``."""
        try:
            self._session.join(DATAGRAMS, self)
        except ValueError:
            raise ValueError(
                "this client uses the datagram service already: close that use, or connect another "
                "client"
            ) from None
        async with deadline(
            self._deadline_s, lambda: f"datagrams are not open; {self._session.describe()}"
        ):
            await asyncio.shield(self._opened)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave."""
        await self.close()

    async def close(self) -> None:
        """Stop publishing and receiving; the name is free again."""
        if self._ended is not None:
            return
        self.ended(Disconnected(f"datagram client {self.name!r} is closed"))
        self._unsent.append(CloseDatagram())
        self._session.wake(DATAGRAMS)
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
        row, body = checked_attributes(attributes), as_bytes(payload)
        expires_at = self._clock.now() + seconds(limit_s) if limit_s < 1e9 else NEVER
        async with deadline(limit_s, self._why_waiting):
            while True:
                try:
                    waiting = self._submit(row, body, expires_at)
                    break
                except QueueFull:
                    place = self._loop.create_future()
                    self._places.append(place)
                    await place
            if waiting is not None and not await waiting:
                self._raise_if_ended()
                raise DeadlineExceeded(f"after {limit_s:g} s: {self._why_waiting()}")

    def try_publish(self, attributes: Attributes | None = None, payload: Buffer = b"") -> bool:
        """Send a message, now or when its turn comes; False if too many wait already."""
        try:
            self._submit(checked_attributes(attributes), as_bytes(payload), NEVER)
        except QueueFull:
            return False
        return True

    def _submit(
        self, attributes: dict[str, Attribute], payload: bytes, expires_at: Instant
    ) -> asyncio.Future[bool] | None:
        """Hand a message to the machine; a future if it waits."""
        self._raise_if_ended()
        self._last_token += 1
        try:
            effects = self._peer.publish(
                self._last_token, attributes, payload, now=self._clock.now(), expires_at=expires_at
            )
        except TooLarge as error:
            raise MessageTooLarge(str(error)) from None
        except NotOpen as error:
            raise Disconnected(f"{error}; {self._session.describe()}") from None
        self._carry_out(effects)
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
            self._carry_out(self._peer.unsubscribe(number))

        subscription = DatagramSubscription(
            selector, in_force, close, unread_messages, self._deadline_s
        )
        self._subscriptions[number] = subscription
        self._carry_out(effects)
        return subscription

    # -- the session's calls ----------------------------------------------------------------

    def connected(self) -> None:
        """Ask for a socket, and open."""
        self._unsent.append(DatagramSocketRequest())
        self._tell(LinkUp(BROKER))

    def disconnected(self, reason: str) -> None:
        """Everything is asked for again on the next connection."""
        self._unsent.clear()
        self._close_socket()
        self._tell(LinkDown(BROKER))

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """What goes over the connection."""
        unsent, self._unsent = self._unsent, []
        return unsent

    def next_deadline(self) -> Instant | None:
        """This participant has a timer of its own, finer than the session's."""
        return None

    def received(self, message: Any) -> None:
        """The broker speaks on the connection."""
        if isinstance(message, DatagramSocketOffer):
            self._opening = self._loop.create_task(self._open_socket(message))
        else:
            self._tell(Received(BROKER, message))

    def ended(self, error: PenstockError) -> None:
        """No connection follows any more."""
        if self._ended is not None:
            return
        self._ended = error
        self._close_socket()
        if self._timer is not None:
            self._timer.cancel()
        for subscription in self._subscriptions.values():
            subscription.end(error)
        for future in (self._opened, *self._in_force.values(), *self._places):
            if not future.done():
                future.set_exception(error)
                # Nobody may be waiting for it.
                future.exception()
        for settling in self._settling.values():
            if not settling.done():
                settling.set_result(False)

    # -- the machine ------------------------------------------------------------------------

    def _raise_if_ended(self) -> None:
        if self._ended is not None:
            raise self._ended.with_traceback(None)

    async def _open_socket(self, offer: DatagramSocketOffer) -> None:
        socket = ClientDatagramSocket(offer, self.parameters.datagram_bytes, self._datagram)
        self._close_socket()
        self._socket = socket
        try:
            await socket.open(self._session.broker_host)
            await socket.bound
        except (OSError, asyncio.CancelledError):
            # The connection is going too, and the next one brings another offer.
            return
        self._open_if_ready()

    def _close_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _open_if_ready(self) -> None:
        socket = self._socket
        bound = socket is not None and socket.bound.done() and not socket.bound.cancelled()
        if self.address and bound and not self._opened.done():
            self._opened.set_result(None)

    def _datagram(self, message: Message) -> None:
        self._tell(Received(BROKER, message))

    def _tell(self, fact: Fact) -> None:
        self._carry_out(self._peer.handle(fact, now=self._clock.now()))

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case SendBestEffort(message=message):
                    if self._socket is not None:
                        self._socket.send(message)
                case Send(message=message):
                    self._unsent.append(message)
                case DeliverPublication(publication, filter_ids):
                    told = DatagramMessage(
                        publication.source,
                        publication.sequence,
                        publication.sent_at,
                        publication.attributes,
                        publication.payload,
                    )
                    for filter_id in filter_ids:
                        if filter_id in self._subscriptions:
                            self._subscriptions[filter_id].deliver(told)
                case PublicationSettled(token, sent):
                    self._settled(token, sent)
                case PeerOpened(address, problem):
                    self._peer_opened(address, problem)
                case PeerSubscribed(filter_id, problem):
                    self._peer_subscribed(filter_id, problem)
        if self._unsent:
            self._session.wake(DATAGRAMS)
        self._arm()

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
                subscription.end(refused)
            if in_force is not None and not in_force.done():
                in_force.set_exception(refused)
                in_force.exception()
        elif in_force is not None and not in_force.done():
            in_force.set_result(None)

    def _arm(self) -> None:
        due = self._peer.next_deadline()
        if due is None or self._ended is not None or due >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        wait_s = max(LEAST_WAIT_S, in_seconds(due - self._clock.now()))
        self._timer = self._loop.call_later(wait_s, self._woken)

    def _woken(self) -> None:
        self._timer = None
        self._timer_at = NEVER
        due = self._peer.next_deadline()
        if due is not None and due <= self._clock.now():
            self._tell(DeadlineReached())
        else:
            self._arm()
