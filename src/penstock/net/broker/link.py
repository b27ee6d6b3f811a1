"""One link of the overlay: a neighbour, its output queue and its connection, if it is up."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from penstock.core.clock import Duration, Instant
from penstock.core.machine import LinkName, Priority, Send
from penstock.core.message import Message
from penstock.mechanisms.back_off import BackOff
from penstock.net.broker.config import NeighbourConfig
from penstock.net.tcp.connection import Connection
from penstock.net.tcp.outbox import Outbox
from penstock.net.wall_clock import WallClock

logger = logging.getLogger(__name__)


class LinkOwner(Protocol):
    """Receives the events of a link."""

    def received(self, link: Link, messages: list[Message]) -> None:
        """Process the messages of one read."""

    def lost(self, link: Link, reason: str) -> None:
        """React to the end of the link's connection."""


class Link:
    """The state of one link, and the handler of its connection."""

    def __init__(
        self,
        name: LinkName,
        config: NeighbourConfig,
        outbox: Outbox,
        back_off: BackOff,
        clock: WallClock,
        owner: LinkOwner,
    ) -> None:
        """Create a link that is down."""
        self.name = name
        self.config = config
        self.back_off = back_off
        self.connection: Connection | None = None
        self.dialled_by = ""
        self.changed_at: Instant = clock.now()
        self.outbox = outbox
        self.dial_wanted = asyncio.Event()
        """Set while the link has no connection and is not cut."""
        self.dial_now = asyncio.Event()
        """Set to end the pause between two dial attempts early."""
        self._cut = False
        self._owner = owner
        self._clock = clock
        self.dial_wanted.set()

    @property
    def up(self) -> bool:
        """Whether the link has a connection."""
        return self.connection is not None

    @property
    def cut(self) -> bool:
        """Whether an operator has cut the link."""
        return self._cut

    @property
    def in_state_for(self) -> Duration:
        """How long the link has been in its present state, up or down."""
        return self._clock.now() - self.changed_at

    def attach(self, connection: Connection, dialled_by: str) -> None:
        """Use this connection from now on."""
        self.connection = connection
        self.dialled_by = dialled_by
        self.changed_at = self._clock.now()
        self.dial_wanted.clear()
        self.outbox.attach(connection)
        connection.handler = self
        address = connection.peer_address
        logger.info("link %s is up (%s, dialled by %s)", self.name, address, dialled_by)

    def detach(self, reason: str) -> None:
        """Mark the link down; messages that were queued on the connection are lost."""
        logger.info("link %s is down: %s", self.name, reason)
        self.back_off.ended_after(self.in_state_for)
        self.connection = None
        self.changed_at = self._clock.now()
        self.outbox.detach()
        if not self._cut:
            self.dial_wanted.set()

    def set_cut(self, cut: bool) -> None:
        """Drop the connection as if the cable had been cut, or allow connections again."""
        if cut == self._cut:
            return
        self._cut = cut
        if cut:
            self.dial_wanted.clear()
            if self.connection is not None:
                self.connection.abort("cut by an operator")
        elif self.connection is None:
            self.back_off.reset()
            self.dial_wanted.set()
            self.dial_now.set()

    def send(self, effect: Send) -> None:
        """Queue a message; data that does not fit is dropped.

        A control message that does not fit ends the connection.
        """
        connection = self.connection
        if connection is None:
            return
        priority = effect.priority
        taken = self.outbox.put(effect.message, priority, effect.flow)
        if not taken and priority is Priority.CONTROL:
            connection.abort("the queue of control messages overflowed; the link starts anew")

    # -- the connection's calls -------------------------------------------------------------

    def on_open(self, connection: Connection) -> None:
        """Do nothing: a connection is attached only after it has opened."""

    def on_messages(self, connection: Connection, messages: list[Message]) -> None:
        """Pass the neighbour's messages to the owner."""
        if connection is self.connection:
            self._owner.received(self, messages)

    def on_writable(self, connection: Connection) -> None:
        """Continue sending."""
        if connection is self.connection:
            self.outbox.pump()

    def on_closed(self, connection: Connection, reason: str) -> None:
        """Report the link as lost, unless another connection has replaced this one."""
        if connection is self.connection:
            self._owner.lost(self, reason)
