"""The sessions of a broker's connected clients.

1. A session is named "client/<n>"; the number is not reused while the broker runs.
2. Messages to a client are sent in the order in which the machine produced them.
3. The output queue of a client is bounded: a client that exceeds it is disconnected with a reason.
4. While the store is behind, the broker does not read from clients that publish: TCP flow control
   holds them back, which costs no memory and loses nothing.  Nor does it read from a client with
   slow requests (``work_turns``) while some of them are queued.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from penstock.content.rows.columns import Buffer
from penstock.core.machine import Fact, LinkName, Priority, Received, SessionClosed, SessionOpened
from penstock.core.message import ClientRequest, Message, RowsRequest
from penstock.net.broker.config import Limits
from penstock.net.broker.ingress import Breach, Ingress, Refused
from penstock.net.broker.work_turns import WorkTurns, is_quick
from penstock.net.tcp.connection import Connection
from penstock.net.tcp.outbox import Outbox
from penstock.net.wall_clock import WallClock
from penstock.overlay.link_queue import LinkQueue, LinkStatistics

logger = logging.getLogger(__name__)

SESSION_PREFIX: Final = "client/"

PAUSE_AT_LOAD: Final = 0.5
"""Half of the store's limit of uncommitted data: requests that are already being read still fit."""

RESUME_AT_LOAD: Final = 0.25
"""Well below ``PAUSE_AT_LOAD``, so that reading does not toggle with every commit; well above
zero, so that the disk has work until the clients send again."""

Feed = Callable[[Iterable[Fact]], None]
Operate = Callable[[ClientRequest, Connection, LinkName], Message | None]
"""Answers a request to the broker process itself; None if the request is for the machine."""


class Session:
    """One client, and the handler of its connection."""

    def __init__(self, name: LinkName, connection: Connection, outbox: Outbox, table: Sessions):
        """The connection has completed its handshake."""
        self.name = name
        self.connection = connection
        self.outbox = outbox
        self.publishes = False
        self.backlog: deque[Message] = deque()
        self.waits_for_store = False
        self._table = table
        outbox.attach(connection)

    def send(self, message: Message) -> None:
        """Queue a message, or disconnect a client that does not read."""
        if not self.connection.closed and not self.outbox.put(message, Priority.DATA):
            self.close(
                f"{self.outbox.statistics().queued_bytes} bytes wait for this client and it does "
                "not read them (session_output_bytes); reconnect and resume"
            )

    @property
    def described(self) -> str:
        """The session's name with the client's name and address, for the log."""
        peer = self.connection.peer
        return f"{self.name} ({peer.name if peer else '?'} at {self.connection.peer_address})"

    def close(self, reason: str, code: str = "", subject: str = "") -> None:
        """Disconnect the client and discard its queued output."""
        logger.info("session %s (%s) closed: %s", self.name, self.connection.peer_address, reason)
        self.outbox.detach()
        self.connection.close(reason, code, subject)

    # -- the connection's calls -------------------------------------------------------------

    def on_open(self, connection: Connection) -> None:
        """Do nothing: a session is created only after its connection has opened."""

    def on_messages(self, connection: Connection, messages: list[Message]) -> None:
        self._table.received(self, messages)

    def on_writable(self, connection: Connection) -> None:
        self.outbox.pump()

    def on_closed(self, connection: Connection, reason: str) -> None:
        self.outbox.detach()
        self._table.closed(self, reason)


class Sessions:
    """All clients that are connected."""

    def __init__(
        self,
        limits: Limits,
        clock: WallClock,
        feed: Feed,
        operate: Operate,
        store_load: Callable[[], float],
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._feed = feed
        self._operate = operate
        self._store_load = store_load
        self._ingress = Ingress(limits)
        self._by_name: dict[LinkName, Session] = {}
        self._paused: list[Session] = []
        self._work = WorkTurns(self._take)
        self._last_number = 0

    def __len__(self) -> int:
        """How many clients are connected."""
        return len(self._by_name)

    def accept(self, connection: Connection) -> None:
        """Open a session for a client after its handshake, or refuse the client."""
        if len(self._by_name) >= self._limits.max_sessions:
            limit = self._limits.max_sessions
            connection.close(f"this broker has {limit} clients, the most allowed (max_sessions)")
            return
        self._last_number += 1
        queue: LinkQueue[list[Buffer]] = LinkQueue(
            data_limit_bytes=self._limits.session_output_bytes
        )
        name = f"{SESSION_PREFIX}{self._last_number}"
        session = Session(name, connection, Outbox(self._clock, queue), self)
        self._by_name[name] = session
        connection.handler = session
        self._feed((SessionOpened(name),))

    def get(self, name: LinkName) -> Session | None:
        """Find a session by its name; None if it has ended."""
        return self._by_name.get(name)

    def close(self, name: LinkName, reason: str, code: str = "", subject: str = "") -> None:
        """Disconnect a client."""
        session = self._by_name.get(name)
        if session is not None:
            session.close(reason, code, subject)

    def close_all(self, reason: str) -> list[Connection]:
        """Disconnect all clients; returns the connections that are closing."""
        sessions = list(self._by_name.values())
        for session in sessions:
            # Acknowledgements that are queued are sent before the goodbye.
            session.outbox.pump_all()
            session.close(reason)
        return [session.connection for session in sessions]

    def abort_all(self, reason: str) -> list[Connection]:
        """Cut every connection without a goodbye; returns the connections."""
        connections = [session.connection for session in self._by_name.values()]
        for connection in connections:
            connection.abort(reason)
        return connections

    def pause_all(self) -> None:
        """Stop reading from all clients."""
        for session in self._by_name.values():
            session.connection.pause_reading()

    def statistics(self) -> dict[LinkName, LinkStatistics]:
        """The statistics of each client's output queue."""
        return {name: each.outbox.statistics() for name, each in self._by_name.items()}

    # -- a session's calls ------------------------------------------------------------------

    def received(self, session: Session, messages: list[Message]) -> None:
        """Process the messages of one read."""
        if not session.backlog and is_quick(messages):
            self._take(session, messages)
        elif session.backlog:
            # Reading is paused; these come from the same read as the messages in the backlog.
            session.backlog.extend(messages)
        elif not self._work.begin(session, messages, partial(self._read_on, session)):
            session.connection.pause_reading()

    def _take(self, session: Session, messages: list[Message]) -> bool:
        """Check messages and hand them to the machine; False if the session has ended."""
        if session.connection.closed:
            return False
        facts: list[Fact] = []
        breach = ""
        for message in messages:
            try:
                checked = self._ingress.check_client(message)
            except Refused as refusal:
                assert isinstance(message, RowsRequest)
                session.send(message.refused(str(refusal)))
                continue
            except Breach as error:
                breach = str(error)
                break
            answer = self._operate(checked, session.connection, session.name)
            if answer is not None:
                session.send(answer)
                continue
            session.publishes = session.publishes or checked.stored
            facts.append(Received(session.name, checked))
        self._feed(facts)
        if breach:
            session.close(breach)
            return False
        if session.publishes and not session.waits_for_store and self._store_load() > PAUSE_AT_LOAD:
            session.connection.pause_reading()
            session.waits_for_store = True
            self._paused.append(session)
        return True

    def _read_on(self, session: Session) -> None:
        """Resume reading from a client, unless its backlog or the store holds it back."""
        if not session.backlog and not session.waits_for_store:
            session.connection.resume_reading()

    def store_progressed(self) -> None:
        """Resume reading after a commit, if the store's load is low enough."""
        if self._paused and self._store_load() < RESUME_AT_LOAD:
            paused, self._paused = self._paused, []
            for session in paused:
                session.waits_for_store = False
                self._read_on(session)

    def closed(self, session: Session, reason: str) -> None:
        """Remove a session whose connection has ended."""
        if self._by_name.pop(session.name, None) is not None:
            logger.debug("session %s ended: %s", session.name, reason)
            self._feed((SessionClosed(session.name),))
