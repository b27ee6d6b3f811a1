"""Maintains a client's connection, shares it among participants and reconnects when it is lost.

1. Publishers and subscriptions are participants.  Each is a pure machine with a facade for the
   application; the session notifies it when a connection begins and ends, passes it its messages,
   and asks it for messages to send.
2. A participant that has messages to send calls ``wake``; all participants woken during one turn of
   the event loop are asked together, as long as the connection has room.
3. A lost connection is replaced: the session dials the lost broker first, then the others in the
   configured order, in rounds, with a growing pause between rounds.
4. Giving up is final and reported to every participant.  Without ``reconnect_for_s`` a session that
   was connected once never gives up by itself; it logs every failed round.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable
from typing import Any, Final, Protocol

import msgspec

from penstock.client.addresses import Address
from penstock.client.errors import ConnectionFailed, Disconnected, PenstockError, ProtocolViolation
from penstock.content.codec.stream import encode
from penstock.content.rows.columns import Buffer
from penstock.core.clock import NEVER, SECOND, Instant, in_seconds
from penstock.core.message import ClientReply, Message, participant_key
from penstock.core.randomness import random_stream
from penstock.mechanisms.back_off import BackOff
from penstock.mechanisms.deadlines import Deadlines
from penstock.net.tcp.transport import Connection, ConnectionOptions, connect
from penstock.net.wall_clock import WallClock
from penstock.overlay.messages import Hello
from penstock.version import __version__

logger = logging.getLogger(__name__)

LEAST_DIAL_S: Final = 0.1
"""The least time for one address to answer, even if the time for all addresses is nearly over."""


class SessionOptions(msgspec.Struct, frozen=True):
    """How a session connects."""

    connect_within_s: float = 5.0
    """How long the first connection may take: enough for a broker that is just starting."""

    reconnect_for_s: float | None = None
    """How long the session tries to reconnect; None means without limit."""

    dial_timeout_s: float = 5.0
    """How long one address may take to answer before the next one is tried."""

    connection: ConnectionOptions = ConnectionOptions()


class Participant(Protocol):
    """A publisher, subscription or other user of the shared connection."""

    def connected(self) -> None:
        """Called when a connection begins."""

    def disconnected(self, reason: str) -> None:
        """Called when the connection has ended; another may follow."""

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """Return the messages to send now."""

    @property
    def wants_room(self) -> bool:
        """Whether ``outgoing`` held messages back for lack of room."""

    def next_deadline(self) -> Instant | None:
        """When to call ``outgoing`` again, unless the participant is woken before."""

    def received(self, message: Any) -> None:
        """Process a message for this participant; may raise ``ProtocolViolation``."""

    def ended(self, error: PenstockError) -> None:
        """Called when the session has ended and will not reconnect."""

    async def farewell(self, deadline_s: float | None) -> None:
        """Finish pending work and leave the session, because the client is being closed."""


class Session:
    """Keeps one connection to one of several brokers."""

    def __init__(self, name: str, addresses: tuple[Address, ...], options: SessionOptions) -> None:
        """The session connects only after ``start``."""
        self.name = name
        self.failure: PenstockError | None = None
        self.farewell = ("", "")
        """Code and subject of the goodbye that ended the last connection."""
        self._addresses = list(addresses)
        self._options = options
        self._clock = WallClock()
        self._loop = asyncio.get_running_loop()
        self._back_off = BackOff(random_stream(self._clock.now(), name, "back-off"))
        self._participants: dict[str, Participant] = {}
        self._woken: dict[str, None] = {}
        self._stopped: dict[str, None] = {}
        self._deadlines: Deadlines[str] = Deadlines()
        self._pump_scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: Instant | None = None
        self._connection: Connection | None = None
        self._lost: asyncio.Future[str] = self._loop.create_future()
        self._first: asyncio.Future[None] = self._loop.create_future()
        self._task: asyncio.Task[None] | None = None
        self._away_since: Instant = self._clock.now()
        self._last_problem = "not tried yet"

    # -- participants -----------------------------------------------------------------------

    def join(self, key: str, participant: Participant) -> None:
        """Share the connection; messages for ``key`` go to this participant."""
        if key in self._participants:
            raise ValueError(f"this client already has a {key}")
        if self.failure is not None:
            participant.ended(self.failure)
            return
        self._participants[key] = participant
        if self._connection is not None:
            participant.connected()
            self.wake(key)

    def leave(self, key: str) -> None:
        """Remove a participant from the session."""
        self._participants.pop(key, None)
        self._woken.pop(key, None)
        self._stopped.pop(key, None)
        self._deadlines.set(key, None)

    def participants(self) -> list[Participant]:
        return list(self._participants.values())

    def wake(self, key: str) -> None:
        """Ask this participant for messages at the end of this turn of the loop."""
        self._woken[key] = None
        if not self._pump_scheduled:
            self._pump_scheduled = True
            self._loop.call_soon(self._pump)

    def say(self, messages: Iterable[Message]) -> None:
        """Send small messages of a participant that is about to leave, if there is a connection."""
        connection = self._connection
        if connection is not None and not connection.closed:
            pieces = [piece for message in messages for piece in encode(message)]
            if pieces:
                connection.write(pieces, sum(map(len, pieces)))

    def send_now(self, key: str) -> None:
        """Send this participant's messages before this call returns, as far as there is room.

        Needed because the application's next step may end the process.
        """
        self._woken[key] = None
        self._pump()

    def _pump(self) -> None:
        self._pump_scheduled = False
        connection = self._connection
        if connection is None or connection.closed:
            self._woken.clear()
            return
        now = self._clock.now()
        for key in self._deadlines.pop_due(now):
            self._woken[key] = None
        woken, self._woken = self._woken, {}
        room_bytes = connection.writable_bytes
        pieces: list[Buffer] = []
        for key in woken:
            participant = self._participants.get(key)
            if participant is None:
                continue
            for message in participant.outgoing(now, room_bytes):
                encoded = encode(message)
                pieces += encoded
                room_bytes -= sum(map(len, encoded))
            if participant.wants_room:
                self._stopped[key] = None
            self._deadlines.set(key, participant.next_deadline())
        if pieces:
            connection.write(pieces, sum(map(len, pieces)))
            if self._stopped and connection.writable_bytes:
                # The kernel has taken everything: continue in the next turn of the loop.
                self._wake_stopped()
        self._set_timer(now)

    def _wake_stopped(self) -> None:
        for key in self._stopped:
            self.wake(key)
        self._stopped.clear()

    def _set_timer(self, now: Instant) -> None:
        deadline = self._deadlines.earliest()
        if deadline == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = deadline
        if deadline is not None:
            self._timer = self._loop.call_later(in_seconds(max(0, deadline - now)), self._due)

    def _due(self) -> None:
        self._timer = None
        self._timer_at = None
        self._pump()

    # -- the connection's calls -------------------------------------------------------------

    def on_open(self, connection: Connection) -> None:
        """Use the connection if the peer is a broker; otherwise close it."""
        if not _is_broker(connection):
            connection.close("a client was dialling, and only brokers answer clients")
            return
        self._connection = connection
        for key, participant in self._participants.items():
            participant.connected()
            self.wake(key)

    def on_messages(self, connection: Connection, messages: list[Message]) -> None:
        """Pass the broker's messages to their participants."""
        for message in messages:
            if not isinstance(message, ClientReply):
                connection.close(f"{type(message).__name__} is not a message to a client")
                return
            for key in self._recipients(message):
                try:
                    self._participants[key].received(message)
                except ProtocolViolation as error:
                    logger.error("%s: %s; connecting anew", self.describe(), error)
                    connection.close(f"protocol violation: {error}")
                    return
                # Runs after the application, which ``received`` has already scheduled.
                self.wake(key)

    def _recipients(self, message: ClientReply) -> list[str]:
        """The participants that a reply is for, without those that have left."""
        if message.to_all:
            prefix = participant_key(message.role, "")
            return [key for key in self._participants if key.startswith(prefix)]
        keys = (key for key in message.addressees() if key in self._participants)
        first = next(keys, None)
        return [] if first is None else [first]

    def on_writable(self, connection: Connection) -> None:
        """Wake the participants that stopped for lack of room."""
        self._wake_stopped()

    def on_closed(self, connection: Connection, reason: str) -> None:
        """Notify all participants that the connection has ended, and start reconnecting."""
        if connection is not self._connection:
            return
        self._connection = None
        self._away_since = self._clock.now()
        self._last_problem = reason
        self.farewell = (connection.farewell_code, connection.farewell_subject)
        for participant in self.participants():
            participant.disconnected(reason)
        if not self._lost.done():
            self._lost.set_result(reason)

    # -- connecting -------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect for the first time; raises ``ConnectionFailed``."""
        self._task = self._loop.create_task(self._keep_up(), name=f"penstock {self.name}")
        await asyncio.shield(self._first)

    async def stop(self, reason: str) -> None:
        """Close the connection and do not reconnect."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._timer is not None:
            self._timer.cancel()
        connection = self._connection
        if connection is not None:
            connection.close(reason)
            await connection.wait_closed()
        self._end(Disconnected(reason))

    @property
    def connected(self) -> bool:
        return self._connection is not None

    @property
    def broker_host(self) -> str:
        """The host at the other end of the connection; empty if there is none."""
        if self._connection is None:
            return ""
        return self._connection.peer_address.rpartition(":")[0].strip("[]")

    def describe(self) -> str:
        """Describe the state of the connection, for error messages."""
        connection = self._connection
        if connection is not None and connection.peer is not None:
            return f"connected to broker {connection.peer.name!r} ({connection.peer_address})"
        away_s = in_seconds(self._clock.now() - self._away_since)
        places = ", ".join(map(str, self._addresses))
        return f"not connected to {places} for {away_s:.1f} s ({self._last_problem})"

    async def _keep_up(self) -> None:
        limit_s: float | None = self._options.connect_within_s
        while await self._connect_within(limit_s):
            opened_at = self._clock.now()
            if not self._first.done():
                self._first.set_result(None)
            reason = await self._lost
            logger.warning("connection lost: %s; connecting anew", reason)
            await asyncio.sleep(
                in_seconds(self._back_off.wait_after(self._clock.now() - opened_at))
            )
            limit_s = self._options.reconnect_for_s

    async def _connect_within(self, limit_s: float | None) -> bool:
        """Dial all addresses in rounds until one answers; False if that took too long."""
        until = NEVER if limit_s is None else self._clock.now() + round(limit_s * SECOND)
        while True:
            if await self._dial_all(until):
                return True
            wait = self._back_off.next_wait()
            if self._clock.now() + wait > until:
                self._end(ConnectionFailed(f"no broker could be reached: {self._last_problem}"))
                return False
            logger.info("no broker could be reached: %s", self._last_problem)
            await asyncio.sleep(in_seconds(wait))

    async def _dial_all(self, until: Instant) -> bool:
        problems = []
        for address in list(self._addresses):
            left_s = in_seconds(until - self._clock.now())
            timeout_s = max(LEAST_DIAL_S, min(self._options.dial_timeout_s, left_s))
            problem = await self._dial(address, timeout_s)
            if problem is None:
                # The next round begins with the broker that was reached.
                self._addresses.remove(address)
                self._addresses.insert(0, address)
                return True
            problems.append(f"{address}: {problem}")
        self._last_problem = "; ".join(problems)
        return False

    async def _dial(self, address: Address, timeout_s: float) -> str | None:
        """Connect to one address; returns the problem, or None."""
        hello = Hello("client", self.name, self._clock.now(), f"penstock {__version__}")
        self._lost = self._loop.create_future()
        try:
            connection = await connect(
                address.host,
                address.port,
                hello,
                self,
                options=self._options.connection,
                timeout_s=timeout_s,
            )
        except TimeoutError:
            return f"no answer in {timeout_s:.1f} s"
        except OSError as error:
            # The loop's own text repeats the address; errors of the resolver have numbers below 0.
            return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        # Dialling a local port without a listener may, rarely, connect the socket to itself.
        return None if _is_broker(connection) else "what answers there is not a broker"

    def _end(self, error: PenstockError) -> None:
        if self.failure is not None:
            return
        self.failure = error
        for participant in self.participants():
            participant.ended(error)
        if not self._first.done():
            self._first.set_exception(error)


def _is_broker(connection: Connection) -> bool:
    return connection.peer is not None and connection.peer.role == "broker"
