"""Gossip for programs without an event loop: the asyncio peer, run in a thread of its own.

    with penstock.blocking.gossip_peer("10.0.0.7:7400", peers=["10.0.0.8:7400"]) as peer:
        group = peer.join("prices")
        group.publish({"symbol": "ACME"}, b"101.5")
        for event in group:
            print(event.attributes, event.payload)

The thread goes on gossiping while the program does something else.  Every object may be used from
any thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from penstock.client.blocking.loop_thread import LoopThread
from penstock.client.errors import Disconnected
from penstock.client.gossip import gossip as asynchronous
from penstock.client.gossip.gossip import DEFAULT_BUFFER_EVENTS, UNREAD_EVENTS
from penstock.client.publishing.row import Attributes
from penstock.content.rows.columns import Buffer
from penstock.net.broker.telemetry import TraceSink
from penstock.services.gossip.messages import Event, EventId, Why
from penstock.services.gossip.parameters import GossipParameters


class GossipGroup:
    """Membership in one group; iterate over it for the events of others."""

    def __init__(self, thread: LoopThread, group: asynchronous.GossipGroup) -> None:
        """Made by ``GossipPeer.join``."""
        self._thread = thread
        self._group = group

    @property
    def name(self) -> str:
        """What the group is called."""
        return self._group.name

    @property
    def missed(self) -> int:
        """How many events were dropped because nobody read them in time."""
        return self._group.missed

    def publish(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> EventId:
        """Broadcast an event as soon as the rate allows, and return its identifier."""
        return self._thread.call(self._group.publish(attributes, payload, deadline_s=deadline_s))

    def try_publish(self, attributes: Attributes | None = None, payload: Buffer = b"") -> bool:
        """Broadcast an event if the rate allows it at once; whether it did."""

        async def attempt() -> bool:
            return self._group.try_publish(attributes, payload)

        return self._thread.call(attempt())

    def next(self, *, deadline_s: float | None = None) -> Event:
        """The next event of another peer."""
        return self._thread.call(self._group.next(deadline_s=deadline_s))

    def __iter__(self) -> Iterator[Event]:
        """Events until this process leaves the group."""
        while True:
            try:
                yield self.next()
            except Disconnected:
                return

    def why(self) -> Why:
        """What holds this peer's publications back."""

        async def ask() -> Why:
            return self._group.why()

        return self._thread.call(ask())

    def leave(self) -> None:
        """Say farewell; what waits to be published is refused."""
        self._thread.call(self._group.leave())


class GossipPeer:
    """A socket, its thread, and the groups that this process is in."""

    def __init__(self, peer: asynchronous.GossipPeer) -> None:
        """Made by ``gossip_peer``; opens the socket."""
        self._peer = peer
        self._thread = LoopThread("penstock gossip")
        try:
            self._thread.call(peer.__aenter__())
        except BaseException:
            self._thread.stop()
            raise

    def __enter__(self) -> Self:
        """Open already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave every group and close the socket."""
        self.close()

    def close(self) -> None:
        """Leave every group and close the socket; a second time does nothing."""
        if not self._thread.loop.is_closed():
            try:
                self._thread.call(self._peer.__aexit__(None, None, None))
            finally:
                self._thread.stop()

    @property
    def address(self) -> str:
        """What other peers send to."""
        return self._peer.address

    @property
    def malformed_datagrams(self) -> int:
        """How many datagrams were no messages of ours."""
        return self._peer.malformed_datagrams

    def join(
        self,
        group: str = "default",
        *,
        parameters: GossipParameters | None = None,
        unread_events: int = UNREAD_EVENTS,
    ) -> GossipGroup:
        """Become a member of a group; the buffers are divided anew."""
        joining = self._peer.join(group, parameters=parameters, unread_events=unread_events)
        return GossipGroup(self._thread, self._thread.call(joining))

    def resize(self, buffer_events: int) -> None:
        """Change the buffers of this process while it runs; the group hears of it."""

        async def change() -> None:
            self._peer.resize(buffer_events)

        self._thread.call(change())


def gossip_peer(
    listen: str = "127.0.0.1:0",
    *,
    peers: Sequence[str] = (),
    advertise: str | None = None,
    buffer_events: int = DEFAULT_BUFFER_EVENTS,
    on_trace: TraceSink | None = None,
) -> GossipPeer:
    """This process as a gossip peer, at once; ``on_trace`` is called in the peer's thread."""
    return GossipPeer(
        asynchronous.gossip_peer(
            listen,
            peers=peers,
            advertise=advertise,
            buffer_events=buffer_events,
            on_trace=on_trace,
        )
    )
