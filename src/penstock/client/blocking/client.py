"""The client for programs without an event loop: scripts, notebooks, threads.

    with penstock.blocking.connect("penstock://127.0.0.1:7400") as client:
        receipt = client.publish({"topic": "prices"}, b"42")
        for message in client.subscribe("topic = 'prices'", start="earliest"):
            print(message["topic"], message.payload)

It is the asyncio client, run in a thread of its own: the same names, the same guarantees, the same
deadlines.  Its objects may be used from any thread; one subscription belongs to one thread at a
time.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from penstock.client import client as asynchronous
from penstock.client.blocking.classes import ClientMethods
from penstock.client.blocking.loop_thread import thread_for
from penstock.client.errors import InvalidAttribute, PenstockError
from penstock.client.options import ClientOptions

if TYPE_CHECKING:
    from penstock.client.blocking.gossip import GossipPeer
    from penstock.net.broker.telemetry import TraceSink

logger = logging.getLogger(__name__)

__all__ = ["Client", "connect"]


def connect(
    url: str | Sequence[str] | None = None,
    *,
    name: str | None = None,
    deadline_s: float | None = None,
    options: ClientOptions | None = None,
) -> Client:
    """Connect to the broker at ``penstock://host:port``, or to the first of several that answers.

    Without a URL, ``PENSTOCK_URL`` says where.  ``deadline_s`` bounds the connection and is the
    default of every call.
    """
    client = asynchronous.connect(url, name=name, deadline_s=deadline_s, options=options)
    thread = thread_for(f"penstock {client.name}", client.hosts)
    try:
        thread.call(client.__aenter__())
    except BaseException:
        thread.stop()
        raise
    return Client(thread, client)


class Client(ClientMethods):
    """A connection to a broker that comes back when it is lost, and what is done over it."""

    def __enter__(self) -> Self:
        """Connected already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; an exception that is under way is not replaced by one of the closing."""
        try:
            self.close()
        except (PenstockError, InvalidAttribute) as problem:
            if kind is None:
                raise
            logger.error("client %r: %s", self.name, problem)

    def close(self, *, deadline_s: float | None = None) -> None:
        """Wait for the receipts of what was published, tell what was acknowledged, disconnect.

        Raises what went wrong with a message whose receipt no call waited for.
        """
        thread = self._thread
        if thread.stopped:
            return
        try:
            with ExitStack() as closing:
                # In the order of their making; the client itself comes last, whatever fails.
                closing.callback(thread.call, self._asyncio.close(deadline_s=deadline_s))
                for publisher in reversed(thread.publishers):
                    closing.callback(publisher.close, deadline_s=deadline_s)
        finally:
            thread.stop()

    def gossip(
        self,
        listen: str = "127.0.0.1:0",
        *,
        peers: Sequence[str] = (),
        advertise: str | None = None,
        buffer_events: int | None = None,
        on_trace: TraceSink | None = None,
    ) -> GossipPeer:
        """This process as a gossip peer too: ``gossip_peer``, which needs no broker."""
        from penstock.client.blocking.gossip import gossip_peer

        options: dict[str, Any] = {"advertise": advertise, "on_trace": on_trace}
        if buffer_events is not None:
            options["buffer_events"] = buffer_events
        return gossip_peer(listen, peers=peers, **options)
