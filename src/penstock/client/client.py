"""The asyncio client.

    async with penstock.connect("penstock://127.0.0.1:7400") as client:
        receipt = await client.publish({"topic": "prices"}, b"42")
        async for message in client.subscribe("topic = 'prices'", start="earliest"):
            print(message["topic"], message.payload)

Every call that waits has a deadline; a loop over messages waits as long as it takes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from penstock.client.addresses import Address, parse_addresses
from penstock.client.errors import Disconnected, InvalidAttribute, OutcomeUncertain, PenstockError
from penstock.client.guaranteed.reader import MAX_UNFINISHED, WINDOW_BYTES, ReaderOptions
from penstock.client.guaranteed.sink import Sink
from penstock.client.guaranteed.start import StartWish, parse_start
from penstock.client.guaranteed.subscription import Subscription
from penstock.client.limits import check_name, check_selector
from penstock.client.publishing.instance import new_instance
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.producer import Producer
from penstock.client.publishing.publisher import OnThrottle, Publication, Publisher
from penstock.client.publishing.receipts import BatchReceipt, Receipt
from penstock.client.publishing.row import Attributes
from penstock.client.requests import Requests, requests_of
from penstock.client.session import Session, SessionOptions
from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.columns import Buffer
from penstock.core.intervals import Tick
from penstock.core.message import Request
from penstock.core.why import WhyRequest
from penstock.net.loop_world import token_hex
from penstock.overlay.messages import LinkControl, StatusRequest
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.guaranteed.edge.subscription import NOTHING
from penstock.services.guaranteed.messages import (
    DescribeStreams,
    MoveCursor,
    StreamBounds,
)

if TYPE_CHECKING:
    from penstock.client.datagram.datagram import Datagrams
    from penstock.client.gossip.gossip import GossipPeer
    from penstock.client.groups.groups import Group, Groups
    from penstock.client.queues.queues import Queues

logger = logging.getLogger(__name__)

AckMode = Literal["auto", "explicit"]
LossMode = Literal["raise", "skip"]


ASK_AGAIN_S: Final = 0.1
"""How long to leave a broker alone that cannot answer yet."""


class ClientOptions(msgspec.Struct, frozen=True):
    """What can be set for a client as a whole."""

    deadline_s: float = 30.0
    """How long a call may wait unless it is given a deadline of its own; ``math.inf`` is for ever.
    Longer than a broker takes to restart, shorter than a person's patience."""

    publish: PublishLimits = PublishLimits()
    session: SessionOptions = SessionOptions()


def connect(
    url: str | Sequence[str] | None = None,
    *,
    name: str | None = None,
    deadline_s: float | None = None,
    options: ClientOptions | None = None,
) -> Client:
    """A client of the broker at ``penstock://host:port``, or of the first of several that answers.

    Use it as ``async with connect(url) as client``, or say ``client = await connect(url)`` and
    close it.  Without a URL, ``PENSTOCK_URL`` says where.  ``deadline_s`` bounds the first
    connection and is the default of every call.
    """
    settings = options or ClientOptions()
    if deadline_s is not None:
        session = msgspec.structs.replace(settings.session, connect_within_s=deadline_s)
        settings = msgspec.structs.replace(settings, deadline_s=deadline_s, session=session)
    check_name("client", name or "")
    return Client(parse_addresses(url), name or f"client-{token_hex(4)}", settings)


class Client:
    """A connection to a broker that comes back when it is lost, and what is done over it."""

    def __init__(self, addresses: tuple[Address, ...], name: str, options: ClientOptions) -> None:
        """Made by ``connect``; not connected before it is awaited or entered."""
        self.name = name
        self._addresses = addresses
        self._options = options
        self._session_or_none: Session | None = None
        self._default: Publisher | None = None
        self._requests: Requests | None = None
        self._last_subscription = 0
        self._queues: Queues | None = None
        self._groups: Groups | None = None
        self._observer: Subscription | None = None
        self._sink_turn = asyncio.Lock()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of the brokers that it may connect to."""
        return tuple(address.host for address in self._addresses)

    # -- opening and closing ----------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Client]:
        """Connect; raises ``ConnectionFailed``."""
        return self._connected().__await__()

    async def __aenter__(self) -> Client:
        """Connect; raises ``ConnectionFailed``."""
        return await self._connected()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; an exception that is under way is not replaced by one of the closing."""
        try:
            await self.close()
        except (PenstockError, InvalidAttribute) as problem:
            if kind is None:
                raise
            logger.error("client %r: %s", self.name, problem)

    async def _connected(self) -> Client:
        if self._session_or_none is None:
            session = Session(self.name, self._addresses, self._options.session)
            self._session_or_none = session
            self._requests = requests_of(session)
            try:
                await session.start()
            except BaseException:
                await session.stop("the attempt to connect was given up")
                raise
        return self

    async def close(self, *, deadline_s: float | None = None) -> None:
        """Wait for the receipts of what was published, tell what was acknowledged, disconnect.

        Raises what went wrong with a message that nobody waited for.
        """
        session = self._session_or_none
        if session is None:
            return
        problems: list[PenstockError | InvalidAttribute] = []
        for participant in session.participants():
            try:
                await participant.farewell(deadline_s)
            except (PenstockError, InvalidAttribute) as problem:
                problems.append(problem)
        await session.stop(f"client {self.name!r} was closed")
        for further in problems[1:]:
            logger.error("client %r: %s", self.name, further)
        if problems:
            raise problems[0]

    @property
    def connected(self) -> bool:
        """Whether there is a connection at this moment."""
        return self._session_or_none is not None and self._session_or_none.connected

    @property
    def queues(self) -> Queues:
        """The queues and alias queues of the broker (docs/reference/queues.md)."""
        # Imported here because it stands on this module's options, and most clients use no queue.
        from penstock.client.queues.queues import Queues

        if self._queues is None:
            self._queues = Queues(self._session, self.name, self._options)
        return self._queues

    @property
    def groups(self) -> Groups:
        """Named groups with reliable multicast (docs/reference/multicast.md)."""
        from penstock.client.groups.groups import Groups

        if self._groups is None:
            self._groups = Groups(self._session, self.name, self._options)
        return self._groups

    def group(self, name: str, *, must_exist: bool = False) -> Group:
        """A group: ``async with client.group("prices") as group`` joins it."""
        return self.groups.group(name, must_exist=must_exist)

    def gossip(
        self, listen: str = "127.0.0.1:0", *, peers: Sequence[str] = (), **options: Any
    ) -> GossipPeer:
        """This process as a gossip peer too: ``penstock.gossip_peer``, which needs no broker."""
        from penstock.client.gossip.gossip import gossip_peer

        return gossip_peer(listen, peers=peers, **options)

    def datagram(
        self,
        name: str | None = None,
        *,
        publishes: bool = True,
        parameters: DatagramParameters | None = None,
    ) -> Datagrams:
        """Best-effort publish/subscribe: lowest delay, no promise (docs/reference/datagram.md).

        A client has one at a time; use it as an ``async with`` block.
        """
        from penstock.client.datagram.datagram import Datagrams

        return Datagrams(
            self._session,
            name or f"{self.name}-{token_hex(4)}",
            parameters or DatagramParameters(),
            publishes=publishes,
            deadline_s=self._options.deadline_s,
        )

    async def why_datagrams(
        self, publisher: str, *, deadline_s: float | None = None
    ) -> dict[str, Any]:
        """What slows the flows of a datagram publisher at this broker down."""
        answer = await self._ask(WhyRequest(publisher), deadline_s)
        if answer.problem:
            raise PenstockError(answer.problem)
        document: dict[str, Any] = msgspec.json.decode(answer.document)
        return document

    @property
    def _session(self) -> Session:
        if self._session_or_none is None:
            raise Disconnected(
                "this client is not connected yet: write `async with penstock.connect(url) as "
                "client`, or `client = await penstock.connect(url)`"
            )
        return self._session_or_none

    # -- publishing -------------------------------------------------------------------------

    async def publish(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> Receipt:
        """Publish one message and wait until it is durable."""
        return await self._publisher.publish(attributes, payload, deadline_s=deadline_s)

    def try_publish(
        self, attributes: Attributes | None = None, payload: Buffer = b""
    ) -> Publication | None:
        """Take one message in, or None at once if too much is without a receipt.

        Awaiting the publication gives the receipt.
        """
        return self._publisher.try_publish(attributes, payload)

    async def publish_batch(
        self, rows: Batch | Iterable[Row], *, deadline_s: float | None = None
    ) -> list[BatchReceipt]:
        """Publish (attributes, payload) pairs, or a batch, and wait until all are durable."""
        return await self._publisher.publish_batch(rows, deadline_s=deadline_s)

    async def flush(self, *, deadline_s: float | None = None) -> None:
        """Wait until everything that this client took in is durable."""
        await self._publisher.flush(deadline_s=deadline_s)

    @property
    def _publisher(self) -> Publisher:
        if self._default is None:
            self._default = self.publisher()
        return self._default

    def publisher(
        self,
        name: str | None = None,
        *,
        pubend: str = "",
        first_sequence: int | None = None,
        limits: PublishLimits | None = None,
        on_throttle: OnThrottle | None = None,
    ) -> Publisher:
        """A publisher of its own order, for high rates or for one particular pubend.

        A ``name`` that is used again continues the numbering of its messages.  It has one publisher
        at a time: the latest takes it over, and an earlier one that still publishes gets
        ``PublisherTakenOver``.  With ``first_sequence`` the caller numbers: a program
        that is run again and publishes the same messages under the same name and numbers has each
        of them stored once.

        ``on_throttle`` is called on the event loop with a ``ThrottleNotice`` whenever the rate that
        the pubend allows changes: how fast, since when, by which rule, and who or what is the
        cause.
        """
        limits = limits or self._options.publish
        unique = name or f"{self.name}/{token_hex(8)}"
        check_name("publisher", unique)
        check_name("pubend", pubend)
        producer = Producer(
            unique,
            limits,
            pubend=pubend,
            first_sequence=first_sequence,
            instance=new_instance(),
        )
        return Publisher(
            self._session,
            producer,
            batch_rows=limits.batch_rows,
            deadline_s=self._options.deadline_s,
            on_throttle=on_throttle,
        )

    def sink(self, name: str, *, pubend: str = "") -> Sink:
        """Publish in numbered steps, each of which happens whole or not at all, and once.

        The broker remembers the last step of the name; without a ``pubend`` it chooses one.
        """
        if not name:
            raise ValueError("a sink's name is how the broker knows it again; it cannot be empty")
        return Sink(self._ask, self._sink_turn, name, pubend, deadline_s=self._options.deadline_s)

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
        """The messages whose attributes match the selector; all of them without one.

        ``durable`` names a subscription that the broker keeps: it collects while nobody is
        connected, and goes on behind what was acknowledged.  ``start`` is "now", "earliest", a
        datetime, or a position for each pubend; a durable subscription that exists goes on where
        it stands.  With ``ack="explicit"`` a message is done when ``message.ack()`` says so.

        ``pubends`` are names or patterns with ``*`` of the streams to read.  Without any it reads
        all that clients publish to; what brokers publish of themselves (``telemetry@…``) is read
        only if it is named.

        With ``end``, a tick for each pubend, it reads those pubends up to (excluding) these ticks
        and is over then: iterating ends by itself.  It reads at the pace that the network spares.
        """
        _check_choice("ack", ack, ("auto", "explicit"))
        _check_choice("on_loss", on_loss, ("raise", "skip"))
        check_selector(selector)
        check_name("subscription", durable or "")
        _check_positive("window_bytes", window_bytes)
        _check_positive("max_unacknowledged", max_unacknowledged)
        if isinstance(pubends, str):
            raise TypeError(f"pubends is a sequence of names, not one: write pubends=[{pubends!r}]")
        if durable == "":
            raise ValueError("durable is the name of the subscription; it cannot be empty")
        if end is not None and not end:
            raise ValueError("end names no pubend: give a tick for each one that is to be read")
        self._last_subscription += 1
        options = ReaderOptions(
            durable=durable is not None,
            explicit=ack == "explicit",
            skip_losses=on_loss == "skip",
            pubends=tuple(pubends),
            window_bytes=window_bytes,
            max_unfinished=max_unacknowledged,
        )
        return Subscription(
            self._session,
            durable or f"{self.name}/{self._last_subscription}",
            selector,
            msgspec.structs.replace(parse_start(start), ends=dict(end or {})),
            options,
            deadline_s=self._options.deadline_s,
        )

    async def delete_subscription(self, durable: str, *, deadline_s: float | None = None) -> None:
        """Delete a durable subscription: it collects no more, and its position is forgotten."""
        subscription = self.subscribe(durable=durable)
        await subscription.close(forget=True, deadline_s=deadline_s)

    # -- asking the broker ------------------------------------------------------------------

    async def status(self, *, deadline_s: float | None = None) -> dict[str, Any]:
        """The broker's account of itself (docs/reference/status.md)."""
        answer = await self._ask(StatusRequest(), deadline_s)
        document: dict[str, Any] = msgspec.json.decode(answer.document)
        return document

    async def streams(self, *, deadline_s: float | None = None) -> dict[str, StreamBounds]:
        """All pubends of the network that this broker knows, and what of each can be read.

        The first call subscribes to nothing, so that the broker follows the streams from then on.
        """
        if self._observer is None:
            self._observer = self.subscribe(NOTHING)
        try:
            await self._observer.open(deadline_s=deadline_s)
        except PenstockError:
            # A subscription that did not come into force is over; the next call makes another.
            self._observer = None
            raise
        give_up_at = asyncio.get_running_loop().time() + self._limit_s(deadline_s)
        while True:
            answer = await self._ask(DescribeStreams(), deadline_s)
            if not answer.problem:
                streams: dict[str, StreamBounds] = answer.streams
                return streams
            # A broker that was just started has yet to hear of the subscription and the sources.
            if asyncio.get_running_loop().time() >= give_up_at:
                raise PenstockError(answer.problem)
            await asyncio.sleep(ASK_AGAIN_S)

    async def move_cursor(
        self, cursor: str, ticks: Mapping[str, Tick], *, deadline_s: float | None = None
    ) -> dict[str, Tick]:
        """Have the logs keep everything from these ticks on; returns where the cursor stands.

        A cursor only moves forward, and holds the logs until it is moved or deleted.
        """
        return await self._move(MoveCursor(cursor, dict(ticks)), deadline_s)

    async def delete_cursor(self, cursor: str, *, deadline_s: float | None = None) -> None:
        """Let the logs go that a cursor holds; one that does not exist is deleted already."""
        await self._move(MoveCursor(cursor, {}, forget=True), deadline_s)

    async def _move(self, question: MoveCursor, deadline_s: float | None) -> dict[str, Tick]:
        answer = await self._ask(question, deadline_s)
        if answer.uncertain:
            raise OutcomeUncertain(
                f"cursor {question.cursor!r} may or may not have moved: {answer.problem}"
            )
        if answer.problem:
            raise PenstockError(f"cursor {question.cursor!r} was not moved: {answer.problem}")
        ticks: dict[str, Tick] = answer.ticks
        return ticks

    async def why(self, name: str, *, deadline_s: float | None = None) -> dict[str, Any]:
        """What slows a sender of any service down, and since when; or why a reader is behind.

        ``name`` is a pubend, a subscription, an alias queue or one of its producers, a client that
        sends to groups, or a datagram publisher, at the broker that it is connected to.  The
        document says which ``service`` answered.
        """
        answer = await self._ask(WhyRequest(name), deadline_s)
        if answer.problem:
            raise PenstockError(answer.problem)
        document: dict[str, Any] = msgspec.json.decode(answer.document)
        return {"service": answer.service, **document}

    async def control_link(
        self,
        link: str,
        *,
        bandwidth_bytes_per_s: int = 0,
        cut: bool = False,
        deadline_s: float | None = None,
    ) -> None:
        """Change a link of this broker while it runs: its bandwidth (0 is unlimited), or cut it."""
        answer = await self._ask(LinkControl(link, bandwidth_bytes_per_s, cut), deadline_s)
        if answer.problem:
            raise PenstockError(f"link {link!r} was not changed: {answer.problem}")

    async def _ask(self, question: Request, deadline_s: float | None) -> Any:
        self._session  # noqa: B018 - says what is wrong if there is none
        assert self._requests is not None
        return await self._requests.ask(question, self._limit_s(deadline_s))

    def _limit_s(self, deadline_s: float | None) -> float:
        return self._options.deadline_s if deadline_s is None else deadline_s


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r}: use one of {', '.join(map(repr, choices))}")


def _check_positive(name: str, value: int) -> None:
    if value <= 0:
        raise ValueError(f"{name}={value!r}: use a positive number")
