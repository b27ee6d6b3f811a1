"""The asyncio client.

    async with penstock.connect("penstock://127.0.0.1:7400") as client:
        receipt = await client.publish({"topic": "prices"}, b"42")
        async for message in client.subscribe("topic = 'prices'", start="earliest"):
            print(message["topic"], message.payload)

Every call that waits has a deadline; a loop over messages waits as long as it takes.

A client is the facade of the guaranteed service and gives those of the others: ``queues``,
``groups``, ``datagram``, ``gossip``, or any by its name with ``service``.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.client.addresses import Address, parse_addresses
from penstock.client.closable import Closable
from penstock.client.context import ClientContext
from penstock.client.errors import InvalidAttribute, PenstockError
from penstock.client.guaranteed.guaranteed import Guaranteed
from penstock.client.limits import check_name
from penstock.client.options import ClientOptions
from penstock.core.why import WhyRequest
from penstock.net.loop_world import token_hex
from penstock.overlay.messages import LinkControl, StatusRequest
from penstock.services.registry import descriptions

if TYPE_CHECKING:
    from penstock.client.datagram.datagram import Datagrams
    from penstock.client.gossip.gossip import GossipPeer
    from penstock.client.groups.group import Group
    from penstock.client.groups.groups import Groups
    from penstock.client.queues.queues import Queues
    from penstock.net.broker.telemetry import TraceSink
    from penstock.services.datagram.parameters import DatagramParameters

logger = logging.getLogger(__name__)

__all__ = ["Client", "ClientOptions", "connect"]


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


class Client(Closable, Guaranteed):
    """A connection to a broker that comes back when it is lost, and what is done over it."""

    name: str
    """How the client introduces itself to the broker."""

    def __init__(self, addresses: tuple[Address, ...], name: str, options: ClientOptions) -> None:
        """Made by ``connect``; not connected before it is awaited or entered."""
        super().__init__(ClientContext(name, options))
        self.name = name
        self._addresses = addresses
        self._services: dict[str, Any] = {"guaranteed": self}

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of the brokers that it may connect to."""
        return tuple(address.host for address in self._addresses)

    # -- opening and closing ----------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Client]:
        """Connect; raises ``ConnectionFailed``."""
        return self.__aenter__().__await__()

    async def _enter(self) -> None:
        await self._context.connect(self._addresses)

    async def close(self, *, deadline_s: float | None = None) -> None:
        """Wait for the receipts of what was published, tell what was acknowledged, disconnect.

        Raises what went wrong with a message whose receipt no call waited for.
        """
        session = self._context.session_or_none
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
        session = self._context.session_or_none
        return session is not None and session.connected

    # -- services ---------------------------------------------------------------------------

    def service(self, name: str) -> Any:
        """The facade of a service, by the service's name: "queues", "multicast", "datagram", ….

        It is built when it is first asked for, as ``Facade(context)``; raises ``ValueError`` for a
        service that does not exist or has no facade.
        """
        facade = self._services.get(name)
        if facade is None:
            known = {each.name: each for each in descriptions()}
            kind = known[name].client_facade if name in known else None
            if kind is None:
                raise ValueError(f"no service {name!r} for clients; there are: {', '.join(known)}")
            facade = self._services[name] = kind(self._context)
        return facade

    @property
    def queues(self) -> Queues:
        """The queues and alias queues of the broker (docs/reference/queues.md)."""
        facade: Queues = self.service("queues")
        return facade

    @property
    def groups(self) -> Groups:
        """Named groups with reliable multicast (docs/reference/multicast.md)."""
        facade: Groups = self.service("multicast")
        return facade

    def group(self, name: str, *, must_exist: bool = False) -> Group:
        """A group: ``async with client.group("prices") as group`` joins it."""
        return self.groups.group(name, must_exist=must_exist)

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
        made: Datagrams = self.service("datagram").datagrams(
            name, publishes=publishes, parameters=parameters
        )
        return made

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
        made: GossipPeer = self.service("gossip").peer(
            listen,
            peers=peers,
            advertise=advertise,
            buffer_events=buffer_events,
            on_trace=on_trace,
        )
        return made

    # -- asking the broker ------------------------------------------------------------------

    async def status(self, *, deadline_s: float | None = None) -> dict[str, Any]:
        """The broker's account of itself (docs/reference/status.md)."""
        answer = await self._context.ask(StatusRequest(), deadline_s)
        document: dict[str, Any] = msgspec.json.decode(answer.document)
        return document

    async def why(self, name: str, *, deadline_s: float | None = None) -> dict[str, Any]:
        """What slows a sender of any service down, and since when; or why a reader is behind.

        ``name`` is a pubend, a subscription, an alias queue or one of its producers, a client that
        sends to groups, or a datagram publisher, at the broker that it is connected to.  The
        document says which ``service`` answered.
        """
        answer = await self._context.carry_out(WhyRequest(name), deadline_s)
        document: dict[str, Any] = msgspec.json.decode(answer.document)
        return {"service": answer.service, **document}

    async def why_datagrams(
        self, publisher: str, *, deadline_s: float | None = None
    ) -> dict[str, Any]:
        """What slows the flows of a datagram publisher at this broker down."""
        return await self.why(publisher, deadline_s=deadline_s)

    async def control_link(
        self,
        link: str,
        *,
        bandwidth_bytes_per_s: int = 0,
        cut: bool = False,
        deadline_s: float | None = None,
    ) -> None:
        """Change a link of this broker while it runs: its bandwidth (0 is unlimited), or cut it."""
        request = LinkControl(link, bandwidth_bytes_per_s, cut)
        await self._context.carry_out(request, deadline_s, f"link {link!r} was not changed")
