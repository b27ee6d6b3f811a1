"""Written by ``python -m penstock.client.blocking.stubs``; do not edit."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from penstock.client.blocking.gossip import GossipPeer
from penstock.client.blocking.proxy import BlockingContext, Proxy
from penstock.client.blocking.publisher import Publisher
from penstock.client.blocking.reading import Reading
from penstock.client.datagram.subscription import DatagramMessage
from penstock.client.groups.message import GroupBatch, GroupMessage
from penstock.client.guaranteed.guaranteed import AckMode, LossMode
from penstock.client.guaranteed.message import Message, MessageBatch
from penstock.client.guaranteed.sink import KnownSinks
from penstock.client.guaranteed.start import StartWish
from penstock.client.publishing.driver import OnThrottle
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.receipts import BatchReceipt, Receipt
from penstock.client.publishing.row import Attributes
from penstock.client.queues.message import QueueBatch, QueueMessage
from penstock.client.queues.queues import QueueAckMode
from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.columns import Buffer
from penstock.core.intervals import Interval, Tick
from penstock.net.broker.telemetry import TraceSink
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.why import PublisherExplanation
from penstock.services.gossip.messages import Event, EventId, Why
from penstock.services.gossip.parameters import GossipParameters
from penstock.services.guaranteed.messages import StreamBounds
from penstock.services.multicast.messages import GroupView

class ClientMethods(BlockingContext):
    """A connection to a broker that comes back when it is lost, and what is done over it."""
    def publish(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> Receipt:
        """Publish one message and wait until it is durable."""
    def try_publish(
        self, attributes: Attributes | None = None, payload: Buffer = b""
    ) -> Publication | None:
        """Accept one message, or return None at once if too much is without a receipt.

        Awaiting the publication gives the receipt.
        """
    def publish_batch(
        self, rows: Batch | Iterable[Row], *, deadline_s: float | None = None
    ) -> list[BatchReceipt]:
        """Publish (attributes, payload) pairs, or a batch, and wait until all are durable."""
    def flush(self, *, deadline_s: float | None = None) -> None:
        """Wait until everything that this client accepted is durable."""
    def publisher(
        self,
        name: str | None = None,
        *,
        pubend: str = "",
        first_sequence: int | None = None,
        limits: PublishLimits | None = None,
        on_throttle: OnThrottle | None = None,
    ) -> Publisher:
        """A publisher with an order of its own, for high rates or for one particular pubend.

        A ``name`` that is used again continues the numbering of its messages.  It has one publisher
        at a time: the latest takes it over, and an earlier one that still publishes gets
        ``PublisherTakenOver``.  With ``first_sequence`` the caller numbers: a program
        that is run again and publishes the same messages under the same name and numbers has each
        of them stored once.

        ``on_throttle`` is called on the event loop with a ``ThrottleNotice`` whenever the rate that
        the pubend allows changes: how fast, since when, by which rule, and the cause.
        """
    def sink(self, name: str, *, pubend: str = "", once: bool = False) -> Sink:
        """Publish in numbered steps, each of which happens whole or not at all, and once.

        The broker remembers the last step of the name; without a ``pubend`` it chooses one.  A sink
        with ``once`` commits one step under a name that is never used again, and takes no place
        among those that the broker remembers.
        """
    def sinks(self, *, deadline_s: float | None = None) -> KnownSinks:
        """The sinks that this broker remembers, the one that was unused for longest first."""
    def delete_sink(self, name: str, *, deadline_s: float | None = None) -> None:
        """Delete what the broker remembers of a sink; it need not exist.

        A step that its program repeats afterwards is published again.
        """
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
        window_bytes: int = 4194304,
        max_unacknowledged: int = 65536,
    ) -> Subscription:
        """The messages whose attributes match the selector; all of them without one.

        ``durable`` names a subscription that the broker keeps: it collects while no reader is
        connected, and continues after what was acknowledged.  ``start`` is "now", "earliest", a
        datetime, or a position for each pubend; a durable subscription that exists continues where
        it stands.  With ``ack="explicit"`` a message is done when ``message.ack()`` says so.

        ``pubends`` are names or patterns with ``*`` of the streams to read.  Without any it reads
        all that clients publish to; what brokers publish of themselves (``telemetry@…``) is read
        only if it is named.

        With ``end``, a tick for each pubend, it reads those pubends up to (excluding) these ticks
        and is over then: iterating ends by itself.  It reads at the pace that the network spares.
        """
    def delete_subscription(self, durable: str, *, deadline_s: float | None = None) -> None:
        """Delete a durable subscription: it collects no more, and its position is forgotten."""
    def streams(self, *, deadline_s: float | None = None) -> dict[str, StreamBounds]:
        """All pubends that this broker knows, and what can be read of each.

        The first call subscribes to nothing, so that the broker follows the streams from then on.
        """
    def move_cursor(
        self, cursor: str, ticks: Mapping[str, Tick], *, deadline_s: float | None = None
    ) -> dict[str, Tick]:
        """Make the logs keep everything from these ticks on; returns the cursor's positions.

        A cursor only moves forward, and holds the logs until it is moved or deleted.
        """
    def delete_cursor(self, cursor: str, *, deadline_s: float | None = None) -> None:
        """Delete a cursor, so that it holds no logs; it need not exist."""
    def close(self, *, deadline_s: float | None = None) -> None:
        """Wait for the receipts of what was published, tell what was acknowledged, disconnect.

        Raises what went wrong with a message whose receipt no call waited for.
        """
    @property
    def name(self) -> str: ...
    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of the brokers that it may connect to."""
    @property
    def connected(self) -> bool:
        """Whether there is a connection at this moment."""
    def service(self, name: str) -> Any:
        """The facade of a service, by the service's name: "queues", "multicast", "datagram", ….

        It is built when it is first asked for, as ``Facade(context)``; raises ``ValueError`` for a
        service that does not exist or has no facade.
        """
    @property
    def queues(self) -> Queues:
        """The queues and alias queues of the broker (docs/reference/queues.md)."""
    @property
    def groups(self) -> Groups:
        """Named groups with reliable multicast (docs/reference/multicast.md)."""
    def group(self, name: str, *, must_exist: bool = False) -> Group:
        """A group: ``with client.group("prices") as group`` joins it."""
    def datagram(
        self,
        name: str | None = None,
        *,
        publishes: bool = True,
        parameters: DatagramParameters | None = None,
    ) -> Datagrams:
        """Best-effort publish/subscribe: lowest delay, no promise (docs/reference/datagram.md).

        A client has one at a time; use it as an ``with`` block.
        """
    def gossip(
        self,
        listen: str = "127.0.0.1:0",
        *,
        peers: Sequence[str] = (),
        advertise: str | None = None,
        buffer_events: int | None = None,
        on_trace: TraceSink | None = None,
    ) -> GossipPeer:
        """This process as a gossip peer too: ``penstock.gossip_peer``, which needs no broker."""
    def status(self, *, deadline_s: float | None = None) -> dict[str, Any]:
        """The broker's account of itself (docs/reference/status.md)."""
    def why(self, name: str, *, deadline_s: float | None = None) -> dict[str, Any]:
        """What slows a sender of any service down, and since when; or why a reader is behind.

        ``name`` is a pubend, a subscription, an alias queue or one of its producers, a client that
        sends to groups, or a datagram publisher, at the broker that it is connected to.  The
        document says which ``service`` answered.
        """
    def why_datagrams(self, publisher: str, *, deadline_s: float | None = None) -> dict[str, Any]:
        """What slows the flows of a datagram publisher at this broker down."""
    def control_link(
        self,
        link: str,
        *,
        bandwidth_bytes_per_s: int = 0,
        cut: bool = False,
        deadline_s: float | None = None,
    ) -> None:
        """Change a link of this broker while it runs: its bandwidth (0 is unlimited), or cut it."""

class Publication(Proxy):
    """A message that was accepted; awaiting it gives its receipt, or raises what went wrong."""
    @property
    def settled(self) -> bool:
        """Whether awaiting it would not wait."""
    def receipt(self, *, deadline_s: float | None = None) -> Receipt:
        """The same with a deadline of its own."""

class Sink(BlockingContext):
    """One sink of a client.  Made by ``Client.sink``."""
    def close(self, *, deadline_s: float | None = None) -> None:
        """Stage and commit no more; what was staged stays, to be committed by another sink."""
    @property
    def name(self) -> str: ...
    @property
    def pubend(self) -> str: ...
    @property
    def once(self) -> bool: ...
    def stage(self, epoch: int, name: str) -> Stage:
        """One writer's part of an epoch; a name is used once."""
    def commit(
        self,
        epoch: int,
        stages: Mapping[str, int],
        *,
        follows: int | None = None,
        deadline_s: float = 600.0,
    ) -> int:
        """Publish these stages, given with the rows of each; returns how many rows that were.

        0 if the epoch was committed before.  Raises ``SinkRefusedError`` if a stage is not there
        any more, and ``DeadlineExceeded`` if it takes too long; then it may yet happen, and
        committing again is safe.

        With ``follows``, an epoch that was committed before, a broker that has no record of it
        refuses: it could not tell whether this epoch was published elsewhere.
        """
    def drop(self, epoch: int) -> None:
        """Discard what was staged for this epoch."""

class Stage(Proxy):
    """Rows of one writer for one epoch."""
    @property
    def name(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def is_committed(self) -> bool: ...
    def open(self) -> None:
        """Ask whether the epoch was committed before, so that its rows need not be computed.

        Raises ``SinkElsewhereError`` if the broker does not host the sink's pubend.
        """
    def write(self, rows: Batch | Iterable[Row]) -> None:
        """Stage rows; they are durable when this returns.

        ``is_committed`` tells afterwards that the epoch was committed before, and that nothing
        needs to be written.
        """

class Subscription(Reading[MessageBatch, Message]):
    """One subscription.  Made by ``Client.subscribe``.

    Unless acknowledgement is explicit, asking for the next message or batch acknowledges the one
    before.
    """
    @property
    def name(self) -> str:
        """The durable name, or one that the client made up."""
    @property
    def positions(self) -> dict[str, Tick]:
        """For each pubend the end of what the application is done with.

        A subscription that starts at these positions continues exactly there.
        """
    @property
    def lost(self) -> Mapping[str, list[Interval]]:
        """The intervals that were lost, for each pubend."""
    @property
    def ahead_s(self) -> Mapping[str, float]:
        """The pubends whose streams are far ahead of the broker's clock, and by how many seconds.

        The time of a message means nothing there, nor does a time to start from.
        """
    @property
    def unacknowledged(self) -> int:
        """How many messages were handed out and are not acknowledged."""
    def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the subscription is in force: what is published from then on is delivered."""
    def close(self, *, forget: bool = False, deadline_s: float | None = None) -> None:
        """Tell the broker what was acknowledged, and end the subscription.

        ``forget`` deletes a durable subscription; otherwise it goes on collecting.
        """
    def next_batch(self, *, deadline_s: float = math.inf) -> MessageBatch:
        """The next messages that arrived together; ``DeadlineExceeded`` if none come in time."""

class Queues(Proxy):
    """The queues that a client's broker hosts or can reach."""
    def send(
        self,
        queue: str,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        priority: int = 4,
        time_to_live_s: float | None = None,
        deadline_s: float | None = None,
    ) -> Receipt:
        """Send one message and wait until it is durable in the queue or alias queue."""
    def sender(
        self,
        queue: str,
        name: str | None = None,
        *,
        priority: int = 4,
        time_to_live_s: float | None = None,
        first_sequence: int | None = None,
        limits: PublishLimits | None = None,
    ) -> Publisher:
        """A sender of its own order, for high rates.

        Its ``publish`` waits for the receipt, its ``send`` only for room, its ``flush`` for all
        receipts.  A ``name`` that is used again continues the numbering of its messages.  It has
        one sender at a time: the latest takes it over, and an earlier one that still sends gets
        ``PublisherTakenOver``.
        """
    def receive(
        self, queue: str, *, selector: str = "", prefetch: int = 200, ack: QueueAckMode = "explicit"
    ) -> Receiver:
        """A consumer of a queue.  With ``ack="auto"`` asking for the next message settles one."""
    def status(self, queue: str = "", *, deadline_s: float | None = None) -> list[dict[str, Any]]:
        """The state of one queue, or of all that the broker hosts."""
    def purge(self, queue: str, *, deadline_s: float | None = None) -> int:
        """Discard what waits; how many messages."""
    def retire(self, alias: str, destination: str, *, deadline_s: float | None = None) -> list[str]:
        """Take a destination from an alias queue; returns those that are left."""
    def add_destination(
        self, alias: str, destination: str, *, deadline_s: float | None = None
    ) -> list[str]:
        """Give an alias queue one more destination; returns all of them."""
    def browse(
        self, queue: str, *, selector: str = "", limit: int = 100, deadline_s: float | None = None
    ) -> list[tuple[int, dict[str, Any], bytes]]:
        """Position, attributes and payload of waiting messages, which stay in the queue."""

class Receiver(Reading[QueueBatch, QueueMessage]):
    """One consumer; iterate over it, or use it in an ``with`` block.

    Closing it tells the broker what was settled; what was not settled returns to the queue.
    """
    @property
    def name(self) -> str:
        """Its name on this connection, as ``penstock queue status`` shows it."""
    @property
    def stale_messages(self) -> int:
        """How many settlements came too late, because the connection was lost before."""
    def flush(self, *, deadline_s: float | None = None) -> None:
        """Wait until everything that was settled is durable."""

class Groups(Proxy):
    """The groups that can be reached from a client's broker."""
    def group(self, name: str, *, must_exist: bool = False, window_bytes: int = 4194304) -> Group:
        """A group to join and to send to.

        With ``must_exist`` sending to a group without members is an error.
        """
    def inbox(self) -> Group:
        """The group of what is sent to this client alone: ``@`` and its name."""
    def sender(
        self,
        *groups: str,
        must_exist: bool = False,
        weight: float = 1.0,
        limits: PublishLimits | None = None,
    ) -> Publisher:
        """A sender to one or several groups; ``@name`` is one client's inbox.

        Its ``publish`` waits for the receipt, its ``send`` only for room, its ``flush`` for all
        receipts.  A member of several of the groups gets each message once.
        """
    def members(self, group: str = "", *, deadline_s: float | None = None) -> dict[str, list[str]]:
        """The members of a group, or of every group, as ``name@broker``."""
    def why(self, client: str, *, deadline_s: float | None = None) -> list[dict[str, Any]]:
        """What holds a client's senders at this broker back: tree, prices, balance."""

class Group(Reading[GroupBatch, GroupMessage]):
    """One group: a member of it in an ``with`` block, a way to send to it at any time."""
    @property
    def name(self) -> str:
        """The group's name."""
    @property
    def members(self) -> tuple[str, ...]:
        """The members of the group as ``name@broker``, by the latest view."""
    @property
    def view(self) -> int:
        """The number of the latest view; it grows as long as the client stays at one broker."""
    @property
    def joins(self) -> int:
        """How often this member has joined: more than once means that it was away in between."""
    def join(self, *, deadline_s: float | None = None) -> None:
        """Another name for ``open``: wait until this client is a member and has its first view."""
    def leave(self, *, deadline_s: float | None = None) -> None:
        """Another name for ``close``."""
    def close(self, *, deadline_s: float | None = None) -> None:
        """Wait for the receipts of what was sent, send no more, and leave the group."""
    def wait_for_view(self, members: int, *, deadline_s: float | None = None) -> None:
        """Wait until the group has at least this many members."""
    def views(self) -> Iterator[GroupView]:
        """Every view from the first on, in order, until the group is left."""
    def send(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> Receipt:
        """Send one message and wait until every broker with members has it."""
    @property
    def sender(self) -> Publisher:
        """The sender to this group, for high rates."""

class DatagramService(Proxy):
    """Best-effort publish/subscribe: lowest delay, no promise."""
    def datagrams(
        self,
        name: str | None = None,
        *,
        publishes: bool = True,
        parameters: DatagramParameters | None = None,
    ) -> Datagrams:
        """A participant of the service, to be used as an ``with`` block.

        A client has one at a time.
        """

class Datagrams(BlockingContext):
    """One client of the service; use it as an ``with`` block."""
    def close(self, *, deadline_s: float | None = None) -> None:
        """Stop publishing and receiving; the name is free again.

        Nothing is waited for: what is best effort has nothing to finish.
        """
    @property
    def name(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def parameters(self) -> DatagramParameters: ...
    def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the broker has opened the service; raises ``DatagramsRefused``."""
    def publish(
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
    def try_publish(self, attributes: Attributes | None = None, payload: Buffer = b"") -> bool:
        """Send a message, now or when its turn comes; False if too many wait already."""
    def why(self) -> PublisherExplanation:
        """What holds this client's publications back."""
    def subscribe(
        self, selector: str = "", *, priority: float = 1.0, unread_messages: int = 10000
    ) -> DatagramSubscription:
        """The messages whose attributes match the selector.

        Where the network does not carry everything, a subscription of ``priority`` 2 gets twice
        the rate of one of 1.  Raises ``SelectorError`` (a ``ValueError``) if the selector is none.
        """

class DatagramSubscription(BlockingContext):
    """A subscription, from the moment it is in force until it is closed."""
    def close(self, *, deadline_s: float | None = None) -> None:
        """End it without waiting; what is unread can still be read."""
    @property
    def selector(self) -> str: ...
    @property
    def missed(self) -> int: ...
    def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the broker has taken the subscription."""
    def next(self, *, deadline_s: float = math.inf) -> DatagramMessage:
        """The next message; raises ``DeadlineExceeded`` if none comes in time."""
    def next_batch(self, *, deadline_s: float = math.inf) -> list[DatagramMessage]:
        """All unread messages, at least one; raises ``DeadlineExceeded``."""
    def __iter__(self) -> Iterator[DatagramMessage]:
        """The messages, until the subscription is closed."""

class GossipService(Proxy):
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

class GossipPeerMethods(BlockingContext):
    """A socket, and the groups that this process is in."""
    def close(self, *, deadline_s: float | None = None) -> None:
        """Leave every group and close the socket, without waiting; closing again does nothing."""
    def open(self) -> None:
        """Open the socket; raises ``OSError`` if it cannot listen."""
    @property
    def address(self) -> str:
        """What other peers send to."""
    @property
    def malformed_datagrams(self) -> int:
        """How many datagrams could not be decoded."""
    def join(
        self,
        group: str = "default",
        *,
        parameters: GossipParameters | None = None,
        unread_events: int = 10000,
    ) -> GossipGroup:
        """Become a member of a group; the buffers are divided anew.

        ``parameters`` must be the same at every peer of the group (but for the buffers).  Raises
        ``ValueError`` for what is out of range, and for a group that was joined already.
        """
    def resize(self, buffer_events: int) -> None:
        """Change the buffers of this process while it runs; the group hears of it."""

class GossipGroup(BlockingContext):
    """Membership in one group."""
    def close(self, *, deadline_s: float | None = None) -> None:
        """Leave the group without waiting; what waits to be published is refused."""
    @property
    def name(self) -> str: ...
    @property
    def missed(self) -> int: ...
    def publish(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> EventId:
        """Broadcast an event as soon as the rate allows, and return its identifier.

        A publication whose deadline passes may still go out when its turn comes.
        """
    def try_publish(self, attributes: Attributes | None = None, payload: Buffer = b"") -> bool:
        """Broadcast an event if the rate allows it at once; whether it did."""
    def why(self) -> Why:
        """What holds this peer's publications back."""
    def next(self, *, deadline_s: float | None = None) -> Event:
        """The next event of another peer."""
    def __iter__(self) -> Iterator[Event]:
        """Events until this process leaves the group."""
    def leave(self, *, deadline_s: float | None = None) -> None:
        """Another name for ``close``."""
