"""The links to a broker's neighbours.

1. A broker knows its neighbours by name; a broker that is not configured is refused.
2. The end that has the other's address dials.  If both ends dial, the connection that the broker
   with the smaller name dialled stays: both ends make the same choice without negotiation.  A
   connection of a restarted peer always replaces the old one.
3. While the link to a broker is up, another broker of the same name, that is one with another data
   directory (``Hello.identity``), is refused.  Both ends report it; the refused broker is not part
   of the overlay, and disconnects its clients with that reason.
4. When a link goes down, its queued messages are lost; the machine is notified and recovers them.
5. An operator can change a link's bandwidth, and cut it: the connection is dropped as if the cable
   had been cut, and no connection is dialled or accepted until the operator ends the cut.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random

from penstock.content.rows.columns import Buffer
from penstock.core.clock import in_seconds, seconds
from penstock.core.machine import Fact, LinkDown, LinkName, LinkUp, Received, Send
from penstock.core.message import Message
from penstock.mechanisms.back_off import BackOff
from penstock.net.broker.config import (
    Address,
    BrokerConfig,
    DialConfig,
    NeighbourConfig,
    parse_address,
)
from penstock.net.broker.ingress import Breach, check_neighbour
from penstock.net.broker.link import Link
from penstock.net.broker.sessions import Feed
from penstock.net.tcp.connection import Connection
from penstock.net.tcp.outbox import Outbox
from penstock.net.tcp.transport import connect
from penstock.net.wall_clock import WallClock
from penstock.overlay.link_queue import LinkQueue
from penstock.overlay.messages import NAME_TAKEN, Hello

logger = logging.getLogger(__name__)


class Neighbours:
    """All links of a broker."""

    def __init__(
        self, config: BrokerConfig, hello: Hello, clock: WallClock, feed: Feed, random: Random
    ) -> None:
        self._config = config
        self._hello = hello
        self._clock = clock
        self._feed = feed
        self._links = {
            name: Link(name, each, self._outbox(each), _back_off(config.dial, random), clock, self)
            for name, each in sorted(config.neighbours.items())
        }
        self._tasks: list[asyncio.Task[None]] = []
        self._rivals: dict[LinkName, str] = {}
        self._taken: dict[LinkName, str] = {}

    @property
    def name_taken(self) -> str:
        """Why this broker is not part of the overlay, if another has its name; else empty."""
        taken = self._taken
        if not taken or any(link.up for link in self._links.values() if link.name not in taken):
            return ""
        return next(iter(self._taken.values()))

    def problems(self) -> list[str]:
        """The conflicts of broker names that an operator should know."""
        return [*self._rivals.values(), *self._taken.values()]

    def _outbox(self, config: NeighbourConfig) -> Outbox:
        queue: LinkQueue[list[Buffer]] = LinkQueue(
            data_limit_bytes=config.queue_bytes,
            fair=self._config.fair_links,
        )
        return Outbox(self._clock, queue, config.bandwidth_bytes_per_s)

    @property
    def links(self) -> Mapping[LinkName, Link]:
        """The links by neighbour."""
        return self._links

    def start(self) -> None:
        """Begin to dial the neighbours whose addresses are configured."""
        for link in self._links.values():
            if link.config.address:
                address = parse_address(link.config.address, f"neighbours.{link.name}.address")
                self._tasks.append(asyncio.create_task(self._keep_dialling(link, address)))

    async def stop(self, reason: str) -> list[Connection]:
        """Stop dialling and close all connections; returns the connections that are closing."""
        await self._stop_dialling()
        closing = []
        for link in self._links.values():
            if link.connection is not None:
                link.outbox.pump_all()
                link.connection.close(reason)
                closing.append(link.connection)
        return closing

    async def _stop_dialling(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def abort_all(self, reason: str) -> list[Connection]:
        """Stop dialling and cut all connections without a goodbye; returns the connections."""
        await self._stop_dialling()
        connections = [each.connection for each in self._links.values() if each.connection]
        for connection in connections:
            connection.abort(reason)
        return connections

    def described(self, name: LinkName) -> str:
        """The neighbour's name and address, for the log; empty if there is no such link."""
        link = self._links.get(name)
        if link is None:
            return ""
        where = link.connection.peer_address if link.connection else "not connected"
        return f"neighbour {name!r} ({where})"

    def send(self, effect: Send) -> None:
        """Queue a message for a neighbour."""
        self._links[effect.link].send(effect)

    def control(self, name: LinkName, bandwidth_bytes_per_s: int, *, cut: bool) -> str:
        """Change a link; returns the problem, or an empty string."""
        link = self._links.get(name)
        if link is None:
            known = ", ".join(self._links) or "none"
            return f"broker {self._config.name!r} has no link {name!r} (its links: {known})"
        if bandwidth_bytes_per_s < 0:
            return f"a bandwidth of {bandwidth_bytes_per_s} bytes/s; use 0 for no limit"
        logger.info("link %s: %d bytes/s, cut: %s", name, bandwidth_bytes_per_s, cut)
        link.outbox.set_rate(bandwidth_bytes_per_s)
        link.set_cut(cut)
        return ""

    # -- connections ------------------------------------------------------------------------

    def accept(self, connection: Connection) -> None:
        """Take a connection that another broker dialled, or refuse it."""
        assert connection.peer is not None
        name = connection.peer.name
        link = self._links.get(name)
        if link is None:
            logger.warning("broker %r (%s) is not a neighbour", name, connection.peer_address)
            connection.close(
                f"broker {name!r} is not a neighbour of {self._config.name!r}; add "
                f"[neighbours.{name}] to the configuration of {self._config.name!r}"
            )
            return
        self._offer(link, connection, dialled_by=name)

    def _offer(self, link: Link, connection: Connection, *, dialled_by: str) -> None:
        """Attach a new connection to a link, or refuse it."""
        if link.cut:
            connection.close(f"the link {link.name} is cut by an operator")
            return
        old = link.connection
        if old is not None and _is_another_broker(old, connection):
            self._refuse_rival(link, old, connection)
            return
        if old is not None:
            if not self._preferred(connection, dialled_by, old, link.dialled_by):
                connection.close(f"the link {link.name} has a better connection")
                return
            self.lost(link, "replaced by a better connection")
            old.close("replaced by a better connection")
        link.attach(connection, dialled_by)
        self._feed((LinkUp(link.name),))

    def _refuse_rival(self, link: Link, old: Connection, new: Connection) -> None:
        """Refuse another broker that has the name of a connected neighbour."""
        name = link.name
        problem = (
            f"two brokers are called {name!r}: one at {old.peer_address}, which broker "
            f"{self._config.name!r} is linked to, and one at {_host_of(new)}, which is refused; "
            "give one of them another name, or stop it"
        )
        if name not in self._rivals:
            logger.error("%s", problem)
        self._rivals[name] = problem
        reason = (
            f"another broker called {name!r} is in the overlay: broker {self._config.name!r} is "
            f"linked to the one at {old.peer_address}; give one of them another name, or stop it"
        )
        new.close(reason, NAME_TAKEN)

    @staticmethod
    def _preferred(new: Connection, new_dialler: str, old: Connection, old_dialler: str) -> bool:
        """Whether a new connection replaces the one that the link has."""
        assert new.peer is not None
        assert old.peer is not None
        if new.peer.incarnation != old.peer.incarnation:
            return new.peer.incarnation > old.peer.incarnation
        # The same dialler dials again only after it has given up its previous connection.
        return new_dialler <= old_dialler

    # -- a link's calls ---------------------------------------------------------------------

    def received(self, link: Link, messages: list[Message]) -> None:
        """Process the messages of one read."""
        # A refused broker receives no message other than Goodbye.
        self._taken.pop(link.name, None)
        facts: list[Fact] = []
        breach = ""
        for message in messages:
            try:
                check_neighbour(message)
            except Breach as error:
                breach = str(error)
                break
            facts.append(Received(link.name, message))
        self._feed(facts)
        if breach and link.connection is not None:
            logger.error("link %s: %s", link.name, breach)
            link.connection.close(breach)

    def lost(self, link: Link, reason: str) -> None:
        """Mark a link down after its connection has ended."""
        connection = link.connection
        if connection is not None and connection.farewell_code == NAME_TAKEN:
            if link.name not in self._taken:
                logger.error("link %s: %s", link.name, reason)
            self._taken[link.name] = reason
        else:
            # A refused broker dials again soon; if it does not, the rival no longer exists.
            self._rivals.pop(link.name, None)
        link.detach(reason)
        self._feed((LinkDown(link.name),))

    # -- dialling ---------------------------------------------------------------------------

    async def _keep_dialling(self, link: Link, address: Address) -> None:
        """Connect whenever the link is down, for as long as the broker runs."""
        problem = ""
        while True:
            await link.dial_wanted.wait()
            link.dial_now.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(in_seconds(link.back_off.next_wait())):
                    await link.dial_now.wait()
            if not link.dial_wanted.is_set():
                continue
            before, problem = problem, await self._dial(link, address)
            if problem and problem != before:
                logger.warning("link %s: %s; trying again", link.name, problem)

    async def _dial(self, link: Link, address: Address) -> str:
        """Dial once; returns the problem, or an empty string."""
        dialled = _Dialled(lambda connection: self._answered(link, connection))
        try:
            await connect(
                address.host, address.port, self._hello, dialled, options=self._config.connection
            )
        except (OSError, TimeoutError) as error:
            return f"{address} cannot be reached: {str(error) or 'no answer in time'}"
        return dialled.problem

    def _answered(self, link: Link, connection: Connection) -> str:
        """Check the peer of a dialled connection; returns the problem, or an empty string."""
        peer = connection.peer
        assert peer is not None
        if peer.role != "broker" or peer.name != link.name:
            problem = (
                f"at {connection.peer_address} answers the {peer.role} {peer.name!r}, not "
                f"{link.name!r}; correct neighbours.{link.name}.address"
            )
            connection.close(problem)
            return problem
        self._offer(link, connection, dialled_by=self._config.name)
        return ""


def _back_off(dial: DialConfig, random: Random) -> BackOff:
    """Only a connection that lasts as long as the longest pause counts as a success."""
    longest = seconds(dial.longest_delay_s)
    return BackOff(
        random,
        first=seconds(dial.first_delay_s),
        longest=longest,
        settled=longest,
        starts_at_once=True,
    )


def _is_another_broker(old: Connection, new: Connection) -> bool:
    """Whether two connections under one name come from different data directories."""
    assert old.peer is not None
    assert new.peer is not None
    here, there = old.peer.identity, new.peer.identity
    return bool(here and there) and here != there


def _host_of(connection: Connection) -> str:
    """The host from which a broker connected; the port of an outgoing connection is random."""
    return connection.peer_address.rpartition(":")[0]


class _Dialled:
    """The handler of a dialled connection until it is attached to a link."""

    def __init__(self, on_answer: Callable[[Connection], str]) -> None:
        self._on_answer = on_answer
        self.problem = ""

    def on_open(self, connection: Connection) -> None:
        self.problem = self._on_answer(connection)

    def on_messages(self, connection: Connection, messages: list[Message]) -> None:
        """Ignore the messages: the connection was refused and is closing."""

    def on_writable(self, connection: Connection) -> None:
        """Do nothing: no output is queued."""

    def on_closed(self, connection: Connection, reason: str) -> None:
        """Do nothing: the connection was not attached to a link."""
