"""Gossip for programs without an event loop: the asyncio peer, run in a thread of its own.

    with penstock.blocking.gossip_peer("10.0.0.7:7400", peers=["10.0.0.8:7400"]) as peer:
        group = peer.join("prices")
        group.publish({"symbol": "ACME"}, b"101.5")
        for event in group:
            print(event.attributes, event.payload)

The thread gossips while the program does something else.  Every object may be used from any thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.client.blocking.classes import GossipGroup, GossipPeerMethods
from penstock.client.blocking.loop_thread import LoopThread
from penstock.client.blocking.proxy import stands_for
from penstock.client.gossip import gossip as asynchronous
from penstock.client.gossip.gossip import DEFAULT_BUFFER_EVENTS
from penstock.net.broker.telemetry import TraceSink

__all__ = ["GossipGroup", "GossipPeer", "gossip_peer"]


@stands_for(asynchronous.GossipPeer)
class GossipPeer(GossipPeerMethods):
    """A socket, its thread, and the groups that this process is in."""

    _owns_thread = False

    def close(self, *, deadline_s: float | None = None) -> None:
        """Leave every group and close the socket; closing again does nothing."""
        if self._thread.stopped:
            return
        try:
            self._thread.call(self._asyncio.close(deadline_s=deadline_s))
        finally:
            if self._owns_thread:
                self._thread.stop()

    def __exit__(self, *exception: object) -> None:
        """Leave every group and close the socket."""
        self.close()


def gossip_peer(
    listen: str = "127.0.0.1:0",
    *,
    peers: Sequence[str] = (),
    advertise: str | None = None,
    buffer_events: int = DEFAULT_BUFFER_EVENTS,
    on_trace: TraceSink | None = None,
) -> GossipPeer:
    """This process as a gossip peer, at once; ``on_trace`` is called in the peer's thread."""
    peer = asynchronous.gossip_peer(
        listen,
        peers=peers,
        advertise=advertise,
        buffer_events=buffer_events,
        on_trace=on_trace,
    )
    thread = LoopThread("penstock gossip")
    made = GossipPeer(thread, peer)
    made._owns_thread = True
    try:
        thread.call(peer.open())
    except BaseException:
        thread.stop()
        raise
    return made
