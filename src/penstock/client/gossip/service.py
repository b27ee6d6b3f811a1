"""The gossip service, as a client offers it: it needs no broker, and so nothing of the client."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.client.facade import ServiceFacade
from penstock.client.gossip.gossip import DEFAULT_BUFFER_EVENTS, GossipPeer
from penstock.net.broker.telemetry import TraceSink


class GossipService(ServiceFacade):
    """Broadcast among peers, without brokers."""

    def peer(
        self,
        listen: str = "127.0.0.1:0",
        *,
        peers: Sequence[str] = (),
        advertise: str | None = None,
        buffer_events: int | None = None,
        on_trace: TraceSink | None = None,
    ) -> GossipPeer:
        """This process as a gossip peer, as ``penstock.gossip_peer`` makes one."""
        return GossipPeer(
            listen,
            peers=peers,
            advertise=advertise,
            buffer_events=DEFAULT_BUFFER_EVENTS if buffer_events is None else buffer_events,
            on_trace=on_trace,
        )
