"""A broker as a process: the machine, its disk, its neighbours and its clients.

1. Everything happens on one event loop.  The only other threads are the store's: one commits, one
   reads.
2. The incarnation is a clock reading that no earlier run of this broker has used, even if the time
   of day was set back in between; it is durable before the broker sends it to any peer.
3. A shutdown keeps every promise that was made.  Its order: stop accepting connections, stop
   reading from clients, make what was read durable and acknowledge it, send goodbye on every
   connection, close the store.
4. If the machine raises, the broker skips that order: it cuts connections as in a crash and
   acknowledges nothing more.  ``failure`` reports this to the caller that runs the broker.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

import msgspec

from penstock.core.clock import Instant, in_seconds
from penstock.core.clock_skew import TOLERATED, span
from penstock.core.datagrams import BestEffort
from penstock.core.machine import OWN_SESSION, CloseSession, Fact, LinkName, Send
from penstock.core.machine_failure import MachineFailed, sender_of
from penstock.core.message import ClientRequest, Message, Right
from penstock.core.randomness import random_stream
from penstock.core.trace import TraceRecord
from penstock.net.broker.config import Address, BrokerConfig
from penstock.net.broker.driver import Driver
from penstock.net.broker.durability import Durability
from penstock.net.broker.link_monitor import LinkMonitor
from penstock.net.broker.neighbours import Neighbours
from penstock.net.broker.rights import refusal
from penstock.net.broker.sessions import SESSION_PREFIX, Sessions
from penstock.net.broker.status import BrokerStatus, link_statuses
from penstock.net.broker.telemetry import Telemetry, TraceSink
from penstock.net.tcp.connection import Connection
from penstock.net.tcp.receive_budget import ReceiveBudget
from penstock.net.udp.broker_socket import DatagramSocket
from penstock.net.wall_clock import WallClock
from penstock.overlay.messages import (
    DatagramSocketRequest,
    Hello,
    LinkControl,
    StatusRequest,
)
from penstock.overlay.node import BrokerNode
from penstock.services.registry import broker_services
from penstock.store.disk import StoreOptions
from penstock.store.interface import StoreError
from penstock.version import __version__

logger = logging.getLogger(__name__)

INCARNATION_KEY: Final = "net/incarnation"
IDENTITY_KEY: Final = "net/identity"
IDENTITY_BYTES: Final = 8

PROBLEMS_EVERY_S: Final = 2.0
"""How often the broker looks for problems that are not logged yet."""

OPERATIONS: Final = frozenset((StatusRequest, DatagramSocketRequest, LinkControl))
"""Client requests that the broker process answers itself, without the machine."""

LISTEN_BACKLOG: Final = 1024
"""Connections that the kernel queues while the loop is busy: all clients may reconnect at once."""

CRASHED: Final = "the broker failed and starts again"

STOP_TIMEOUT_S: Final = 10.0
"""How long a stopping broker waits for the disk before it stops without acknowledging."""


class OwnPublisher(Protocol):
    """Publishes a broker's own telemetry, as a client of its own machine."""

    def start(self) -> None:
        """Open the stream."""

    def add(self, records: Iterable[TraceRecord]) -> None:
        """Publish records, either immediately or with the next publication."""

    def answered(self, message: Message) -> None:
        """Process an answer of the machine."""


def _telemetry_stream(
    broker: str, run: str, feed: Callable[[Iterable[Fact]], None]
) -> OwnPublisher:
    """Create the telemetry publisher of the first service that offers one."""
    publishers = (each.telemetry_publisher for each in broker_services())
    made: OwnPublisher = next(each for each in publishers if each)(broker, run, feed)
    return made


class BrokerServer:
    """One broker, from ``start`` to ``stop``."""

    def __init__(self, config: BrokerConfig, on_trace: TraceSink | None = None) -> None:
        """Open nothing yet; ``on_trace`` receives the telemetry."""
        self.config = config
        self._telemetry = Telemetry(config.name)
        if on_trace is not None:
            self._telemetry.add_sink(on_trace)
        self._stream: OwnPublisher | None = None
        self._durability = Durability(self._store_answered)
        self._clock = WallClock()
        self._listener: asyncio.Server | None = None
        self._address = config.listen_address
        self.failure: asyncio.Future[MachineFailed] = asyncio.get_running_loop().create_future()
        """Resolves when the machine has raised; after that only ``abandon`` may be called."""

    # -- life -------------------------------------------------------------------------------

    async def start(self) -> None:
        """Recover, listen and dial; raises ``StoreError`` or ``OSError`` on failure."""
        try:
            await self._durability.open(Path(self.config.data_dir), StoreOptions())
            await self._build()
            listener = await self._bind()
            self._driver.start(self.node.start(now=self._clock.now()))
            # The start of each stream must be durable before any peer learns of the stream.
            await self._durability.save({})
            await listener.start_serving()
        except BaseException:
            await self._durability.close()
            raise
        if self._stream is not None:
            self._stream.start()
        self._neighbours.start()
        self._monitor.start()
        self._watch = asyncio.create_task(self._watch_problems())
        logger.info("broker %s listens at %s", self.config.name, self.address)

    async def _build(self) -> None:
        config = self.config
        saved = self._durability.saved()
        last = int.from_bytes(saved.get(INCARNATION_KEY, b""), "big")
        self._clock = WallClock(not_before=last + 1)
        incarnation = self._clock.now()
        identity = saved.get(IDENTITY_KEY) or secrets.token_bytes(IDENTITY_BYTES)
        await self._durability.save(
            {INCARNATION_KEY: incarnation.to_bytes(8, "big"), IDENTITY_KEY: identity}
        )
        self.node = BrokerNode(
            config.node_config(), saved=saved, logs=self._durability.logs(), now=incarnation
        )
        self.node.clock_measured(self._clock.ahead_ns)
        self._started_at: Instant = incarnation
        software = f"penstock {__version__}"
        self._hello = Hello("broker", config.name, incarnation, software, identity.hex())
        self._driver = Driver(self.node, self._clock, self._durability, self, self._telemetry.add)
        self._datagrams = DatagramSocket(self._clock, self._driver.feed)
        self._sessions = Sessions(
            config.limits, self._clock, self._overheard, self._operate, self._store_load
        )
        if config.telemetry.publish:
            run = config.telemetry.run or config.name
            self._stream = _telemetry_stream(config.name, run, self._driver.feed)
            self._telemetry.add_sink(self._stream.add)
        random = random_stream(incarnation, config.name, "dialling")
        self._neighbours = Neighbours(config, self._hello, self._clock, self._overheard, random)
        self._datagrams.watch(self._neighbours.links)
        self._monitor = LinkMonitor(
            self._neighbours.links,
            self._clock,
            self._telemetry,
            config.telemetry.interval_s,
            self._driver.feed,
        )

    async def _bind(self) -> asyncio.Server:
        """Bind the TCP and UDP addresses without accepting connections yet."""
        loop = asyncio.get_running_loop()
        host, port = self._address.host, self._address.port
        budget = ReceiveBudget(self.config.limits.receive_buffers_bytes)
        listener = self._listener = await loop.create_server(
            lambda: Connection(self._hello, self, self.config.connection, budget),
            host,
            port,
            backlog=LISTEN_BACKLOG,
            start_serving=False,
        )
        self._address = Address(host, listener.sockets[0].getsockname()[1])
        wanted = self.config.datagram_port
        await self._datagrams.open(host, wanted or self._address.port, required=bool(wanted))
        return listener

    async def stop(self, reason: str = "the broker is stopping") -> None:
        """Shut down in the order of rule 3."""
        logger.info("broker %s stops: %s", self.config.name, reason)
        if self._listener is not None:
            self._listener.close()
        self._monitor.stop()
        self._watch.cancel()
        self._sessions.pause_all()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                # This completes only after all earlier writes.
                await self._durability.save({})
        except TimeoutError:
            logger.error("the disk did not answer for %g s; stopping without it", STOP_TIMEOUT_S)
        except StoreError as error:
            logger.error("the disk refuses: %s; stopping without it", error)
        closing = [*self._sessions.close_all(reason), *await self._neighbours.stop(reason)]
        await asyncio.gather(*(connection.wait_closed() for connection in closing))
        self._driver.stop()
        self._datagrams.close()
        await self._durability.close()
        self._telemetry.flush()

    async def abandon(self) -> None:
        """Release all resources after the machine raised, without notifying any peer."""
        if self._listener is not None:
            self._listener.close()
        self._monitor.stop()
        self._watch.cancel()
        self._driver.stop()
        self._datagrams.close()
        lost = [*self._sessions.abort_all(CRASHED), *await self._neighbours.abort_all(CRASHED)]
        await asyncio.gather(*(connection.wait_closed() for connection in lost))
        # Writes ordered before the failure may still be committed, as in any crash.
        await self._durability.close()
        self._telemetry.flush()

    @property
    def address(self) -> Address:
        """The address at which the broker listens."""
        return self._address

    # -- incoming connections ---------------------------------------------------------------

    def on_open(self, connection: Connection) -> None:
        """Hand a connection to the sessions or the neighbours after its handshake."""
        assert connection.peer is not None
        role = connection.peer.role
        if role == "client" and self._neighbours.name_taken:
            connection.close(self._neighbours.name_taken)
        elif role == "client":
            self._sessions.accept(connection)
        elif role == "broker":
            self._neighbours.accept(connection)
        else:
            connection.close(f"the role {role!r} is not known here; it is client or broker")

    def on_messages(self, connection: Connection, messages: list[Message]) -> None:
        """Ignore the messages: the connection was refused and is closing."""

    def on_writable(self, connection: Connection) -> None:
        """Do nothing: no output is queued before the handshake."""

    def on_closed(self, connection: Connection, reason: str) -> None:
        """Log a connection that ended before its handshake, or that was refused."""
        logger.debug("connection from %s ended: %s", connection.peer_address, reason)

    # -- the machine's orders ---------------------------------------------------------------

    def send(self, effect: Send) -> None:
        """Queue a message for a client or a neighbour."""
        link = effect.link
        session = self._sessions.get(link)
        if session is not None:
            session.send(effect.message)
        elif link == OWN_SESSION:
            if self._stream is not None:
                self._stream.answered(effect.message)
        elif not link.startswith(SESSION_PREFIX):
            self._neighbours.send(effect)

    def send_best_effort(self, effect: BestEffort) -> None:
        """Send messages to a client or a neighbour as datagrams."""
        self._datagrams.send(effect)

    def close_session(self, effect: CloseSession) -> None:
        """End a client's connection."""
        self._sessions.close(effect.session, effect.reason, effect.code, effect.subject)

    def machine_failed(self, fact: Fact | None, error: Exception) -> None:
        """Record the sender of the fact that the machine could not handle, and stop."""
        link = sender_of(fact)
        session = self._sessions.get(link)
        sender = self._neighbours.described(link) if session is None else session.described
        failure = MachineFailed(self.config.name, fact, error, sender)
        logger.critical("%s; the broker stops and restarts from its log", failure, exc_info=error)
        self._sessions.pause_all()
        if not self.failure.done():
            self.failure.set_result(failure)

    def _overheard(self, facts: Iterable[Fact]) -> None:
        """Feed facts from links and sessions to the datagram socket, then to the machine."""
        self._driver.feed(self._datagrams.overheard(facts))

    # -- the store --------------------------------------------------------------------------

    def _store_answered(self, facts: Iterable[Fact]) -> None:
        self._driver.feed(facts)
        self._sessions.store_progressed()

    def _store_load(self) -> float:
        return self._durability.load

    # -- operators --------------------------------------------------------------------------

    def _operate(
        self, message: ClientRequest, connection: Connection, session: LinkName
    ) -> Message | None:
        """Answer a request to the broker process itself; None if it is for the machine."""
        if message.right is Right.ADMINISTER:
            refused = refusal(
                message,
                connection,
                session,
                admin=self.config.admin,
                is_own=self.node.owns,
            )
            if refused is not None:
                return refused
        if type(message) not in OPERATIONS:
            return None
        if isinstance(message, StatusRequest):
            status: Message = message.answered(msgspec.json.encode(self.status()))
            return status
        if isinstance(message, DatagramSocketRequest):
            return self._datagrams.offer(session)
        if isinstance(message, LinkControl):
            problem = self._neighbours.control(
                message.link, message.bandwidth_bytes_per_s, cut=message.cut
            )
            controlled: Message = message.answered(message.link, problem=problem)
            return controlled
        return None

    def status(self) -> BrokerStatus:
        """Build the status document."""
        now = self._clock.now()
        return BrokerStatus(
            name=self.config.name,
            software=self._hello.software,
            incarnation=self._hello.incarnation,
            uptime_s=in_seconds(now - self._started_at),
            listening=str(self._address),
            sessions=len(self._sessions),
            store_load=self._durability.load,
            links=link_statuses(self._neighbours.links),
            services=self.node.status(now),
            problems=tuple(self._problems(now)),
        )

    def _problems(self, now: Instant) -> list[str]:
        """List all problems that an operator should know, without duplicates."""
        said = [*self.node.problems(now), *self._durability.problems()]
        said += [*self._neighbours.problems(), *self._clock_problem()]
        return list(dict.fromkeys(said))

    def _clock_problem(self) -> list[str]:
        """Report if the broker's clock, which never goes back, is far from the time of day."""
        ahead_ns = self._clock.ahead_ns
        if abs(ahead_ns) <= TOLERATED:
            return []
        where = "ahead of" if ahead_ns > 0 else "behind"
        return [
            f"this broker's clock is {where} the time of day by {span(abs(ahead_ns))}: the time of "
            "day was set while the broker ran, or was ahead at an earlier start. The clock never "
            "goes back, so times here are off until the time of day has caught up, or (if it was "
            "set forward) until the broker is started again"
        ]

    async def _watch_problems(self) -> None:
        """Log each new problem once; disconnect all clients if this broker's name is taken."""
        logged: set[str] = set()
        while True:
            self.node.clock_measured(self._clock.ahead_ns)
            for problem in [*self.node.problems(self._clock.now()), *self._clock_problem()]:
                key = problem.partition(" by ")[0].partition(":")[0]
                if key not in logged:
                    logged.add(key)
                    logger.warning("%s", problem)
            if self._neighbours.name_taken:
                self._sessions.close_all(self._neighbours.name_taken)
            await asyncio.sleep(PROBLEMS_EVERY_S)
