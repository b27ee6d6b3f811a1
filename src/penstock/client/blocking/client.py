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
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from penstock.client import client as asynchronous
from penstock.client.blocking.gossip import GossipGroup, GossipPeer, gossip_peer
from penstock.client.blocking.loop_thread import LoopThread, thread_for
from penstock.client.blocking.publisher import Publication, Publisher
from penstock.client.blocking.sink import Sink
from penstock.client.client import AckMode, ClientOptions, LossMode
from penstock.client.errors import Disconnected, InvalidAttribute, PenstockError
from penstock.client.guaranteed import subscription as asynchronous_subscription
from penstock.client.guaranteed.acknowledgement import Piece
from penstock.client.guaranteed.message import Message, MessageBatch
from penstock.client.guaranteed.reader import MAX_UNFINISHED, WINDOW_BYTES
from penstock.client.guaranteed.start import StartWish
from penstock.client.publishing import publisher as asynchronous_publisher
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.receipts import BatchReceipt, Receipt
from penstock.client.publishing.row import Attributes
from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.columns import Buffer
from penstock.core.intervals import Interval, Tick
from penstock.services.guaranteed.messages import StreamBounds

if TYPE_CHECKING:
    from penstock.client.blocking.datagram import Datagrams
    from penstock.client.blocking.groups import Group, Groups
    from penstock.client.blocking.queues import Queues
    from penstock.client.datagram import datagram as asynchronous_datagram
    from penstock.client.groups import groups as asynchronous_groups
    from penstock.client.queues import queues as asynchronous_queues
    from penstock.services.datagram.parameters import DatagramParameters

logger = logging.getLogger(__name__)

__all__ = [
    "Client",
    "GossipGroup",
    "GossipPeer",
    "Publication",
    "Publisher",
    "Subscription",
    "connect",
    "gossip_peer",
]


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
        thread.call(_entered(client))
    except BaseException:
        thread.stop()
        raise
    return Client(client, thread)


async def _entered(client: asynchronous.Client) -> None:
    await client


class Client:
    """A connection to a broker that comes back when it is lost, and what is done over it."""

    def __init__(self, client: asynchronous.Client, thread: LoopThread) -> None:
        """Made by ``connect``, connected."""
        self._client = client
        self._thread = thread
        self._publishers: list[Publisher] = []

    @property
    def name(self) -> str:
        """How the client introduces itself to the broker."""
        return self._client.name

    @property
    def connected(self) -> bool:
        """Whether there is a connection at this moment."""
        return self._client.connected

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

        Raises what went wrong with a message that nobody waited for.
        """
        if self._thread.loop.is_closed():
            return
        try:
            with ExitStack() as closing:
                # In the order of their making; the client itself comes last, whatever fails.
                closing.callback(self._thread.call, self._client.close(deadline_s=deadline_s))
                for publisher in reversed(self._publishers):
                    closing.callback(publisher.close, deadline_s=deadline_s)
        finally:
            self._thread.stop()

    # -- publishing -------------------------------------------------------------------------

    def publish(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> Receipt:
        """Publish one message and wait until it is durable."""
        return self._thread.call(self._client.publish(attributes, payload, deadline_s=deadline_s))

    def try_publish(
        self, attributes: Attributes | None = None, payload: Buffer = b""
    ) -> Publication | None:
        """Take one message in, or None at once if too much is without a receipt."""
        taken = self._thread.call(_try_publish(self._client, attributes, payload))
        return None if taken is None else Publication(self._thread, taken)

    def publish_batch(
        self, rows: Batch | Iterable[Row], *, deadline_s: float | None = None
    ) -> list[BatchReceipt]:
        """Publish (attributes, payload) pairs, or a batch, and wait until all are durable."""
        return self._thread.call(self._client.publish_batch(rows, deadline_s=deadline_s))

    def flush(self, *, deadline_s: float | None = None) -> None:
        """Wait until everything that this client took in is durable."""
        self._thread.call(self._client.flush(deadline_s=deadline_s))

    def publisher(
        self,
        name: str | None = None,
        *,
        pubend: str = "",
        first_sequence: int | None = None,
        limits: PublishLimits | None = None,
        on_throttle: asynchronous_publisher.OnThrottle | None = None,
    ) -> Publisher:
        """A publisher of its own order, for high rates or for one particular pubend.

        ``on_throttle`` is called on the client's own thread, and must not wait for it.
        """

        async def make() -> asynchronous_publisher.Publisher:
            return self._client.publisher(
                name,
                pubend=pubend,
                first_sequence=first_sequence,
                limits=limits,
                on_throttle=on_throttle,
            )

        publisher = Publisher(self._thread, self._thread.call(make()))
        self._publishers = [each for each in self._publishers if not each.closed]
        self._publishers.append(publisher)
        return publisher

    def sink(self, name: str, *, pubend: str = "") -> Sink:
        """Publish in numbered steps, each of which happens whole or not at all, and once."""
        return Sink(self._thread, self._client.sink(name, pubend=pubend))

    # -- subscribing ------------------------------------------------------------------------

    def subscribe(
        self,
        selector: str = "",
        *,
        pubends: Sequence[str] = (),
        durable: str | None = None,
        start: StartWish = "now",
        end: Mapping[str, Tick] | None = None,
        ack: AckMode = "auto",
        on_loss: LossMode = "raise",
        window_bytes: int = WINDOW_BYTES,
        max_unacknowledged: int = MAX_UNFINISHED,
    ) -> Subscription:
        """The messages whose attributes match the selector, as in the asyncio client."""
        subscription = self._client.subscribe(
            selector,
            pubends=pubends,
            durable=durable,
            start=start,
            end=end,
            ack=ack,
            on_loss=on_loss,
            window_bytes=window_bytes,
            max_unacknowledged=max_unacknowledged,
        )
        return Subscription(self._thread, subscription)

    def delete_subscription(self, durable: str, *, deadline_s: float | None = None) -> None:
        """Delete a durable subscription: it collects no more, and its position is forgotten."""
        self._thread.call(self._client.delete_subscription(durable, deadline_s=deadline_s))

    # -- asking the broker ------------------------------------------------------------------

    @property
    def queues(self) -> Queues:
        """The queues and alias queues of the broker (docs/reference/queues.md)."""
        from penstock.client.blocking.queues import Queues

        async def ask() -> asynchronous_queues.Queues:
            return self._client.queues

        return Queues(self._thread, self._thread.call(ask()))

    @property
    def groups(self) -> Groups:
        """Named groups with reliable multicast (docs/reference/multicast.md)."""
        from penstock.client.blocking.groups import Groups

        async def ask() -> asynchronous_groups.Groups:
            return self._client.groups

        return Groups(self._thread, self._thread.call(ask()))

    def group(self, name: str, *, must_exist: bool = False) -> Group:
        """A group: ``with client.group("prices") as group`` joins it."""
        return self.groups.group(name, must_exist=must_exist)

    def gossip(
        self, listen: str = "127.0.0.1:0", *, peers: Sequence[str] = (), **options: Any
    ) -> GossipPeer:
        """This process as a gossip peer too: ``gossip_peer``, which needs no broker."""
        return gossip_peer(listen, peers=peers, **options)

    def datagram(
        self,
        name: str | None = None,
        *,
        publishes: bool = True,
        parameters: DatagramParameters | None = None,
    ) -> Datagrams:
        """Best-effort publish/subscribe: lowest delay, no promise (docs/reference/datagram.md)."""
        from penstock.client.blocking.datagram import Datagrams

        async def make() -> asynchronous_datagram.Datagrams:
            return self._client.datagram(name, publishes=publishes, parameters=parameters)

        return Datagrams(self._thread, self._thread.call(make()))

    def why_datagrams(self, publisher: str, *, deadline_s: float | None = None) -> dict[str, Any]:
        """What slows the flows of a datagram publisher at this broker down."""
        return self._thread.call(self._client.why_datagrams(publisher, deadline_s=deadline_s))

    def status(self, *, deadline_s: float | None = None) -> dict[str, Any]:
        """The broker's account of itself (docs/reference/status.md)."""
        return self._thread.call(self._client.status(deadline_s=deadline_s))

    def streams(self, *, deadline_s: float | None = None) -> dict[str, StreamBounds]:
        """All pubends of the network that this broker knows, and what of each can be read."""
        return self._thread.call(self._client.streams(deadline_s=deadline_s))

    def move_cursor(
        self, cursor: str, ticks: Mapping[str, Tick], *, deadline_s: float | None = None
    ) -> dict[str, Tick]:
        """Have the logs keep everything from these ticks on; returns where the cursor stands."""
        return self._thread.call(self._client.move_cursor(cursor, ticks, deadline_s=deadline_s))

    def delete_cursor(self, cursor: str, *, deadline_s: float | None = None) -> None:
        """Let the logs go that a cursor holds; one that does not exist is deleted already."""
        self._thread.call(self._client.delete_cursor(cursor, deadline_s=deadline_s))

    def why(self, name: str, *, deadline_s: float | None = None) -> dict[str, Any]:
        """What slows a pubend of this broker down, or why a subscription there is behind."""
        return self._thread.call(self._client.why(name, deadline_s=deadline_s))

    def control_link(
        self,
        link: str,
        *,
        bandwidth_bytes_per_s: int = 0,
        cut: bool = False,
        deadline_s: float | None = None,
    ) -> None:
        """Change a link of this broker while it runs: its bandwidth (0 is unlimited), or cut it."""
        self._thread.call(
            self._client.control_link(
                link, bandwidth_bytes_per_s=bandwidth_bytes_per_s, cut=cut, deadline_s=deadline_s
            )
        )


async def _try_publish(
    client: asynchronous.Client, attributes: Attributes | None, payload: Buffer
) -> asynchronous_publisher.Publication | None:
    return client.try_publish(attributes, payload)


class Subscription:
    """One subscription; iterate over it, or use it in a ``with`` block."""

    def __init__(
        self, thread: LoopThread, subscription: asynchronous_subscription.Subscription
    ) -> None:
        """Made by ``Client.subscribe``."""
        self._thread = thread
        self._subscription = subscription
        self._opened = False
        self._rows: Iterator[Message] = iter(())
        subscription.acknowledge_through(self._acknowledge)

    def _acknowledge(self, piece: Piece, row: int | None) -> None:
        self._thread.post(self._subscription.acknowledge, piece, row)

    @property
    def name(self) -> str:
        """The durable name, or one that the client made up."""
        return self._subscription.name

    @property
    def positions(self) -> dict[str, Tick]:
        """For each pubend the end of what the application is done with."""

        async def ask() -> dict[str, Tick]:
            return self._subscription.positions

        return self._thread.call(ask())

    @property
    def lost(self) -> Mapping[str, list[Interval]]:
        """The intervals that were lost, for each pubend."""
        return self._subscription.lost

    @property
    def ahead_s(self) -> Mapping[str, float]:
        """The pubends whose streams are far ahead of the broker's clock, and by how much."""
        return self._subscription.ahead_s

    @property
    def unacknowledged(self) -> int:
        """How many messages were handed out and are not done."""
        return self._subscription.unacknowledged

    def __enter__(self) -> Self:
        """Make the subscription: whatever is published from now on is delivered."""
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End it."""
        self.close()

    def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the subscription is in force."""
        self._opened = True
        self._thread.call(self._subscription.open(deadline_s=deadline_s))

    def close(self, *, forget: bool = False, deadline_s: float | None = None) -> None:
        """Tell the broker what was acknowledged, and end the subscription."""
        self._thread.call(self._subscription.close(forget=forget, deadline_s=deadline_s))

    def __iter__(self) -> Iterator[Message]:
        """The messages, until the subscription is closed."""
        return self.messages()

    def messages(self, *, deadline_s: float = math.inf) -> Iterator[Message]:
        """The same; raises ``DeadlineExceeded`` if none comes for so long.

        Unless acknowledgement is explicit, asking for the next message acknowledges this one.
        """
        opened_here = self._open_if_needed()
        try:
            while True:
                yield from self._rows
                batch = self._wait_batch(deadline_s)
                if batch is None:
                    return
                self._rows = self._subscription.rows_of(batch)
        finally:
            if opened_here:
                self.close()

    def batches(self, *, deadline_s: float = math.inf) -> Iterator[MessageBatch]:
        """The messages as they arrived together, until the subscription is closed."""
        opened_here = self._open_if_needed()
        try:
            if self._subscription.has_end:
                # Nothing of it is acknowledged, so many batches can cross the threads together.
                while batches := self._thread.call(self._subscription.wait_batches(deadline_s)):
                    yield from batches
                return
            while (batch := self._wait_batch(deadline_s)) is not None:
                yield batch
        finally:
            if opened_here:
                self.close()

    def next(self, *, deadline_s: float = math.inf) -> Message:
        """The next message; raises ``DeadlineExceeded`` if none comes in time."""
        for message in self._rows:
            return message
        batch = self.next_batch(deadline_s=deadline_s)
        self._rows = self._subscription.rows_of(batch)
        return next(self._rows)

    def next_batch(self, *, deadline_s: float = math.inf) -> MessageBatch:
        """The next messages that arrived together; ``DeadlineExceeded`` if none come in time."""
        self._open_if_needed()
        batch = self._wait_batch(deadline_s)
        if batch is None:
            raise Disconnected(f"subscription {self.name!r} is closed")
        return batch

    def _open_if_needed(self) -> bool:
        if self._opened:
            return False
        self.open()
        return True

    def _wait_batch(self, deadline_s: float) -> MessageBatch | None:
        return self._thread.call(self._subscription.wait_batch(deadline_s))
