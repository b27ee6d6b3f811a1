"""The pure datagram client on a connection, a socket and a timer.

1. It takes part in the session: what the machine says on the connection is collected there, and
   what the broker says there is told to the machine.
2. Each connection brings the offer of a socket; publications, reports and echoes go over it.
3. The machine's deadlines have a timer of their own, finer than the session's.
4. Effects that concern the application are handed on to ``on_effect``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from penstock.client.datagram.socket import ClientDatagramSocket
from penstock.client.errors import PenstockError
from penstock.client.session import Session
from penstock.core.clock import NEVER, Instant, in_seconds
from penstock.core.datagrams import ReceivedTogether, SendBestEffort
from penstock.core.machine import DeadlineReached, Effect, Fact, LinkDown, LinkUp, Received, Send
from penstock.core.message import DATAGRAMS, Message
from penstock.net.wall_clock import WallClock
from penstock.overlay.messages import DatagramSocketOffer, DatagramSocketRequest
from penstock.services.datagram.peer import BROKER, DatagramPeer

LEAST_WAIT_S: Final = 0.0005
"""A timer of the event loop is not finer; a shorter one would spin."""


class DatagramDriver:
    """What moves one ``DatagramPeer``."""

    wants_room = False
    """All that it sends is small, and goes whatever room there is."""

    def __init__(
        self,
        session: Session,
        peer: DatagramPeer,
        *,
        on_effect: Callable[[Effect], None],
        on_bound: Callable[[], None],
        on_end: Callable[[PenstockError], None],
    ) -> None:
        """``on_bound`` is called when the broker has learnt the socket's address."""
        self.peer = peer
        self.clock = WallClock()
        self._session = session
        self._on_effect = on_effect
        self._on_bound = on_bound
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._socket: ClientDatagramSocket | None = None
        self._opening: asyncio.Task[None] | None = None
        self._unsent: list[Message] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: Instant = NEVER
        self._closed = False

    @property
    def bound(self) -> bool:
        """Whether datagrams can come and go."""
        socket = self._socket
        return socket is not None and socket.bound.done() and not socket.bound.cancelled()

    def say(self, message: Message) -> None:
        """Send a message over the connection."""
        self._unsent.append(message)
        self._session.wake(DATAGRAMS)

    @property
    def sent_in_turn(self) -> int:
        """How many messages went into datagrams since the event loop had its last turn."""
        return 0 if self._socket is None else self._socket.sent_in_turn

    def carry_out(self, effects: list[Effect], *, deadlines_changed: bool = True) -> None:
        """Do what the machine orders."""
        for effect in effects:
            if type(effect) is SendBestEffort:
                if self._socket is not None:
                    self._socket.send(effect.message)
            elif type(effect) is Send:
                self.say(effect.message)
            else:
                self._on_effect(effect)
        if deadlines_changed:
            self._arm()

    def close(self) -> None:
        """Datagrams neither come nor go any more; the connection is left alone."""
        self._closed = True
        self._close_socket()
        if self._timer is not None:
            self._timer.cancel()

    async def farewell(self, deadline_s: float | None) -> None:
        """Nothing that is best effort has to be finished; the broker sees the connection end."""

    # -- the session's calls ----------------------------------------------------------------

    def connected(self) -> None:
        """Ask for a socket, and open."""
        self._unsent.append(DatagramSocketRequest())
        self._tell(LinkUp(BROKER))

    def disconnected(self, reason: str) -> None:
        """Everything is asked for again on the next connection."""
        self._unsent.clear()
        self._close_socket()
        self._tell(LinkDown(BROKER))

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """What goes over the connection."""
        unsent, self._unsent = self._unsent, []
        return unsent

    def next_deadline(self) -> Instant | None:
        """This participant has a timer of its own."""
        return None

    def received(self, message: Any) -> None:
        """Handle a message that came over the connection."""
        if isinstance(message, DatagramSocketOffer):
            self._opening = self._loop.create_task(self._open_socket(message))
        else:
            self._tell(Received(BROKER, message))

    def ended(self, error: PenstockError) -> None:
        """No connection follows any more."""
        self._on_end(error)

    # -- the socket and the timer -----------------------------------------------------------

    def _tell(self, fact: Fact) -> None:
        self.carry_out(self.peer.handle(fact, now=self.clock.now()))

    async def _open_socket(self, offer: DatagramSocketOffer) -> None:
        limit_bytes = self.peer.parameters.datagram_bytes
        socket = ClientDatagramSocket(offer, limit_bytes, self._datagrams)
        self._close_socket()
        self._socket = socket
        try:
            await socket.open(self._session.broker_host)
            await socket.bound
        except (OSError, asyncio.CancelledError):
            # The connection is going too, and the next one brings another offer.
            return
        self._on_bound()

    def _close_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _datagrams(self, messages: list[Message]) -> None:
        self._tell(ReceivedTogether(BROKER, messages))

    def _arm(self) -> None:
        due = self.peer.next_deadline()
        if due is None or self._closed or due >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        wait_s = max(LEAST_WAIT_S, in_seconds(due - self.clock.now()))
        self._timer = self._loop.call_later(wait_s, self._woken)

    def _woken(self) -> None:
        self._timer = None
        self._timer_at = NEVER
        due = self.peer.next_deadline()
        if due is not None and due <= self.clock.now():
            self._tell(DeadlineReached())
        else:
            self._arm()
