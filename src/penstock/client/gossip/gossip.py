"""A process as a gossip peer: broadcast to a group, without a broker.

    async with penstock.gossip_peer("10.0.0.7:7400", peers=["10.0.0.8:7400"]) as peer:
        group = await peer.join("prices")
        await group.publish({"symbol": "ACME"}, b"101.5")
        async for event in group:
            print(event.attributes, event.payload)

1. ``publish`` waits until the group's rate allows the event; ``try_publish`` does not wait.  Both
   raise ``EventRefused`` with the reason.  An event that was published is on its way to
   almost every peer: gossip acknowledges nothing.
2. Events arrive once each.  What the application does not read in time is bounded: beyond
   ``unread_events`` the oldest is dropped and counted in ``missed``.
3. A process in several groups divides its buffers among them.
4. Leaving the block says farewell, so that the others forget this peer at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec

from penstock.client.closable import Closable
from penstock.client.errors import DeadlineExceeded, Disconnected, PenstockError
from penstock.client.gossip.endpoint import GossipEndpoint
from penstock.client.publishing.row import Attributes, as_bytes, as_dict
from penstock.content.rows.columns import Buffer
from penstock.core.machine import Effect
from penstock.net.broker.telemetry import TraceSink
from penstock.services.gossip.facts import (
    DeliverEvents,
    InGroup,
    JoinGossipGroup,
    Leave,
    PublicationRefused,
    Published,
    PublishEvent,
)
from penstock.services.gossip.messages import Event, EventId, Why, check_attributes
from penstock.services.gossip.parameters import GossipParameters

UNREAD_EVENTS: Final = 10_000
"""What an application may leave unread in a group: a hundred seconds at 100 events a second."""

DEFAULT_BUFFER_EVENTS: Final = 90
"""The paper's buffers before they shrink (Section 4)."""


class EventRefused(PenstockError):
    """An event will not be sent, and why."""

    def __init__(self, group: str, reason: str) -> None:
        """``reason`` is the peer's text."""
        super().__init__(f"group {group!r}: {reason}")
        self.group = group
        self.reason = reason


class GossipGroup(Closable):
    """Membership in one group."""

    name: str
    missed: int
    """Events that were dropped because they were not read in time."""

    def __init__(
        self, endpoint: GossipEndpoint, parameters: GossipParameters, unread_events: int
    ) -> None:
        """Made by ``GossipPeer.join``."""
        self.name = parameters.group
        self.missed = 0
        self._endpoint = endpoint
        self._unread: deque[Event] = deque()
        self._unread_limit = unread_events
        self._arrived = asyncio.Event()
        self._closed = False
        self._last_token = 0
        self._answers: dict[int, asyncio.Future[EventId]] = {}

    async def publish(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> EventId:
        """Broadcast an event as soon as the rate allows, and return its identifier.

        A publication whose deadline passes may still go out when its turn comes.
        """
        future = self._submit(attributes, payload)
        try:
            return await asyncio.wait_for(future, deadline_s)
        except TimeoutError:
            why = self.why()
            raise DeadlineExceeded(
                f"publishing to group {self.name!r} was not allowed within {deadline_s:g} s: "
                f"{why.cause}",
                accepted=True,
            ) from None

    def try_publish(self, attributes: Attributes | None = None, payload: Buffer = b"") -> bool:
        """Broadcast an event if the rate allows it at once; whether it did."""
        peer = self._endpoint.host.peers.get(self.name)
        if self._closed or peer is None:
            raise Disconnected(f"this process has left group {self.name!r}: join it again")
        now_allowed = not peer.waiting and (not peer.limits_rate or self.why().tokens >= 1)
        if not now_allowed:
            return False
        future = self._submit(attributes, payload)
        if future.done():
            future.result()
        return True

    def why(self) -> Why:
        """What holds this peer's publications back."""
        answer = self._endpoint.why(self.name)
        if answer is None:
            raise Disconnected(f"this process has left group {self.name!r}: join it again")
        return answer

    async def next(self, *, deadline_s: float | None = None) -> Event:
        """The next event of another peer."""
        while not self._unread:
            if self._closed:
                raise Disconnected(f"this process has left group {self.name!r}: join it again")
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), deadline_s)
            except TimeoutError:
                raise DeadlineExceeded(
                    f"no event of group {self.name!r} came within {deadline_s:g} s"
                ) from None
        return self._unread.popleft()

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Events until this process leaves the group."""
        while True:
            try:
                yield await self.next()
            except Disconnected:
                return

    async def close(self, *, deadline_s: float | None = None) -> None:
        """Leave the group without waiting; what waits to be published is refused."""
        if not self._closed:
            self._endpoint.tell(InGroup(self.name, Leave()))
            self._closed = True
            self._arrived.set()

    async def leave(self, *, deadline_s: float | None = None) -> None:
        """Another name for ``close``."""
        await self.close(deadline_s=deadline_s)

    def _submit(self, attributes: Attributes | None, payload: Buffer) -> asyncio.Future[EventId]:
        if self._closed:
            raise Disconnected(f"this process has left group {self.name!r}: join it again")
        checked = as_dict(attributes)
        check_attributes(checked)
        self._last_token += 1
        token = self._last_token
        publication = PublishEvent(token, as_bytes(payload), checked)
        future: asyncio.Future[EventId] = asyncio.get_running_loop().create_future()
        self._answers[token] = future
        self._endpoint.tell(InGroup(self.name, publication))
        return future

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, DeliverEvents):
            self._unread.extend(effect.events)
            while len(self._unread) > self._unread_limit:
                self._unread.popleft()
                self.missed += 1
            self._arrived.set()
        elif isinstance(effect, Published):
            future = self._answers.pop(effect.token)
            if not future.done():
                future.set_result(effect.id)
        elif isinstance(effect, PublicationRefused):
            future = self._answers.pop(effect.token)
            if not future.done():
                future.set_exception(EventRefused(self.name, effect.reason))


class GossipPeer(Closable):
    """A socket, and the groups that this process is in."""

    def __init__(
        self,
        listen: str,
        *,
        peers: Sequence[str] = (),
        advertise: str | None = None,
        buffer_events: int = DEFAULT_BUFFER_EVENTS,
        seed: int | str | None = None,
        loss: float = 0.0,
        on_trace: TraceSink | None = None,
    ) -> None:
        """``loss`` drops arriving datagrams at random, to rehearse a bad network."""
        self._listen = listen
        self._contacts = tuple(peers)
        self._advertise = advertise
        self._buffer_events = buffer_events
        self._seed = seed
        self._loss = loss
        self._on_trace = on_trace
        self._groups: dict[str, GossipGroup] = {}
        self._endpoint: GossipEndpoint | None = None
        self._closed = False

    async def _enter(self) -> None:
        await self.open()

    async def open(self) -> None:
        """Open the socket; raises ``OSError`` if it cannot listen."""
        if self._closed:
            raise Disconnected("the gossip peer was closed: make another one")
        if self._endpoint is not None:
            return
        self._endpoint = await GossipEndpoint.open(
            self._listen,
            self._buffer_events,
            self._on_effect,
            advertise=self._advertise,
            seed=self._seed,
            loss=self._loss,
            on_trace=self._on_trace,
        )

    async def close(self, *, deadline_s: float | None = None) -> None:
        """Leave every group and close the socket, without waiting; closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        for group in self._groups.values():
            await group.close()
        if self._endpoint is not None:
            self._endpoint.close()

    @property
    def address(self) -> str:
        """What other peers send to."""
        return self._open_endpoint().address

    @property
    def malformed_datagrams(self) -> int:
        """How many datagrams could not be decoded."""
        return self._open_endpoint().malformed_datagrams

    async def join(
        self,
        group: str = "default",
        *,
        parameters: GossipParameters | None = None,
        unread_events: int = UNREAD_EVENTS,
    ) -> GossipGroup:
        """Become a member of a group; the buffers are divided anew.

        ``parameters`` must be the same at every peer of the group (but for the buffers).  Raises
        ``ValueError`` for what is out of range, and for a group that was joined already.
        """
        if self._closed:
            raise Disconnected("the gossip peer was closed: make another one")
        chosen = msgspec.structs.replace(parameters or GossipParameters(), group=group).checked()
        endpoint = self._open_endpoint()
        joined = GossipGroup(endpoint, chosen, unread_events)
        endpoint.tell(JoinGossipGroup(chosen, self._contacts))
        self._groups[group] = joined
        return joined

    def resize(self, buffer_events: int) -> None:
        """Change the buffers of this process while it runs; the group hears of it."""
        self._open_endpoint().resize(buffer_events)

    def _open_endpoint(self) -> GossipEndpoint:
        if self._endpoint is None:
            raise Disconnected("the gossip peer is not open: use it as an async with block")
        return self._endpoint

    def _on_effect(self, group: str, effect: Effect) -> None:
        joined = self._groups.get(group)
        if joined is not None:
            joined._carry_out(effect)


def gossip_peer(
    listen: str = "127.0.0.1:0",
    *,
    peers: Sequence[str] = (),
    advertise: str | None = None,
    buffer_events: int = DEFAULT_BUFFER_EVENTS,
    on_trace: TraceSink | None = None,
) -> GossipPeer:
    """This process as a gossip peer, to be used as an ``async with`` block.

    ``listen`` is host:port with a numeric host, and port 0 takes any; ``peers`` are addresses of
    members, of which one that answers is enough; ``advertise`` is the address that others reach
    this one by, if it is not the one it listens on.  ``buffer_events`` is how much this process
    keeps to pass it on, for all of its groups.  ``on_trace`` gets what the peers record.
    """
    return GossipPeer(
        listen,
        peers=peers,
        advertise=advertise,
        buffer_events=buffer_events,
        on_trace=on_trace,
    )
