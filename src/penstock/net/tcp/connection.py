"""One connection: sends and receives messages over a TCP stream.

Brokers and clients use the same class, on both ends.

1. Each end sends its ``Hello`` first.  Until the peer's ``Hello`` has arrived only small frames are
   read, and any other message ends the connection with a reason.
2. All messages of one read are passed to the owner together, as a list.  Messages that the owner
   sends one by one (``send``) are written together at the end of the turn of the event loop; an
   owner that has joined its messages itself writes them immediately (``write``).
3. ``writable_bytes`` tells the owner how much it may send, and ``on_writable`` is called when there
   is room again.  Messages beyond that are not lost, but when more than ``max_unsent_bytes`` are
   unsent the connection is aborted: a peer that does not read cannot use unbounded memory here.
4. An idle end sends heartbeats; a peer that sends no byte during several of them is considered
   dead.  Silence is counted in our own heartbeats and not in seconds, so that a pause of this
   process is not mistaken for a pause of the peer.
5. ``close`` sends the reason (``Goodbye``), shuts down the sending side and reads until the peer
   has closed too, because closing a socket with unread input destroys data in flight to the peer,
   including the reason.
6. Malformed bytes end this connection and affect no other.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any, Final, Protocol, cast

import msgspec

from penstock.content.codec.malformed import MalformedMessage
from penstock.content.codec.stream import encode
from penstock.content.rows.columns import Buffer
from penstock.core.message import Message
from penstock.net.tcp.receive_budget import ReceiveBudget
from penstock.net.tcp.receive_buffer import ReceiveBuffer
from penstock.net.tcp.write_room import WriteRoom, apply_room
from penstock.overlay.messages import Goodbye, Heartbeat, Hello
from penstock.overlay.wire import connection_decoder

logger = logging.getLogger(__name__)

OWN_MESSAGES: Final = frozenset((Goodbye, Heartbeat))
"""Messages that connections handle themselves and do not pass to their owners."""

MAX_HELLO_BYTES: Final = 64 * 1024
"""The largest frame before the handshake is done: an unknown peer gets little memory."""

HEARTBEAT: Final = encode(Heartbeat())

Count = Annotated[int, msgspec.Meta(gt=0)]
Bytes = Annotated[int, msgspec.Meta(ge=4096)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class ConnectionOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a connection behaves; the defaults suit a local network and most wide-area links."""

    max_frame_bytes: Bytes = 64 * 1024 * 1024
    """The largest frame that is accepted: far above any sensible batch, far below the memory."""

    write_room_bytes: Bytes = 256 * 1024
    """The most bytes that may be buffered above the socket: enough for one turn of the loop at full
    speed.  On a slow path it is less (``write_room``)."""

    kernel_unsent_bytes: Bytes = 128 * 1024
    """The most bytes that the kernel may hold beyond those in flight, for the same reason."""

    max_unsent_bytes: Bytes = 64 * 1024 * 1024
    """A peer that leaves more than this unread is disconnected."""

    heartbeat_interval_s: Seconds = 2.0
    """How long an end may be idle before it sends a heartbeat."""

    silent_heartbeats: Count = 3
    """After this many of our own heartbeats without a byte the peer is considered dead."""

    handshake_timeout_s: Seconds = 10.0
    """How long the peer's Hello may take: enough for a slow link, short for an unknown peer."""

    linger_s: Seconds = 5.0
    """How long a closing connection waits for the peer to read the reason."""


class ConnectionHandler(Protocol):
    """The owner of a connection.  All calls come from the event loop, never nested in ``send``."""

    def on_open(self, connection: Connection) -> None:
        """Called after the handshake; ``connection.peer`` is the peer's Hello."""

    def on_messages(self, connection: Connection, messages: list[Message]) -> None:
        """Process the messages of one read, without heartbeats."""

    def on_writable(self, connection: Connection) -> None:
        """Called when there is room to send."""

    def on_closed(self, connection: Connection, reason: str) -> None:
        """Called once when the connection has ended; no other call follows."""


class Connection(asyncio.BufferedProtocol):
    """One end of a connection."""

    def __init__(
        self,
        hello: Hello,
        handler: ConnectionHandler,
        options: ConnectionOptions | None = None,
        budget: ReceiveBudget | None = None,
    ) -> None:
        """``hello`` is sent in the handshake; ``budget`` is shared with other connections."""
        self.peer: Hello | None = None
        self.peer_address = "not connected"
        self.received_bytes = 0
        self.sent_bytes = 0
        self.closed = False
        """Whether closing has begun: no message is sent or received any more."""
        self._hello = hello
        self.handler = handler
        self._options = options or ConnectionOptions()
        self._loop = asyncio.get_running_loop()
        self._decoder = connection_decoder()
        self._budget = budget
        self._buffer = ReceiveBuffer(MAX_HELLO_BYTES, self._frame_grew if budget else None)
        self._transport: asyncio.Transport | None = None
        self._pieces: list[Buffer] = []
        self._pieces_bytes = 0
        self._flush_scheduled = False
        self._paused = False
        self._paused_at = 0.0
        self._paused_with_bytes = 0
        self._room = WriteRoom(self._options.write_room_bytes)
        self._reading_paused = False
        self._received_at_last_beat = 0
        self._sent_at_last_beat = 0
        self._silent_beats = 0
        self._timer: asyncio.TimerHandle | None = None
        self._close_reason: str | None = None
        self.farewell_code = ""
        """The code of the peer's ``Goodbye``, if it had one."""
        self.farewell_subject = ""
        """The subject of the code, if it is not the connection itself."""
        self._announced = False
        self._lost: asyncio.Future[None] = self._loop.create_future()

    # -- sending ----------------------------------------------------------------------------

    def send(self, message: Message) -> None:
        """Send a message at the end of this turn of the loop; ignored when closing has begun."""
        if not self.closed:
            self._put(encode(message))
            self._check_unsent()

    def write(self, pieces: list[Buffer], count_bytes: int) -> None:
        """Write encoded messages of ``count_bytes`` in total immediately.

        The pieces must not change afterwards.  Unlike ``send`` this does not cause a call of
        ``on_writable`` unless the transport pauses.
        """
        transport = self._transport
        if self.closed or transport is None:
            return
        if self._pieces:
            self.flush()
        self.sent_bytes += count_bytes
        if not transport.is_closing():
            transport.writelines(pieces)
        if self._paused:
            self._check_unsent()

    def _check_unsent(self) -> None:
        if self.unsent_bytes > self._options.max_unsent_bytes:
            self.abort(
                f"the peer left more than {self._options.max_unsent_bytes} bytes unread "
                "(max_unsent_bytes)"
            )

    def _put(self, pieces: list[Buffer]) -> None:
        self._pieces += pieces
        count_bytes = sum(map(len, pieces))
        self._pieces_bytes += count_bytes
        self.sent_bytes += count_bytes
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._scheduled_flush)

    def _scheduled_flush(self) -> None:
        self._flush_scheduled = False
        self.flush()
        if not self.closed and not self._paused and self.peer is not None:
            self.handler.on_writable(self)

    def flush(self) -> None:
        """Write the messages of ``send`` without waiting for the end of the turn."""
        transport = self._transport
        if transport is None or not self._pieces:
            return
        pieces, self._pieces = self._pieces, []
        self._pieces_bytes = 0
        if not transport.is_closing():
            transport.writelines(pieces)

    @property
    def unsent_bytes(self) -> int:
        """The bytes that were sent here and that the kernel has not taken yet."""
        queued = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._pieces_bytes + queued

    @property
    def writable_bytes(self) -> int:
        """How much can be sent without exceeding the room; if 0, wait for ``on_writable``."""
        if self._paused or self.closed:
            return 0
        room_bytes = self._room.size_bytes - self.unsent_bytes
        return room_bytes if room_bytes > 0 else 0

    # -- ending -----------------------------------------------------------------------------

    def close(self, reason: str, code: str = "", subject: str = "") -> None:
        """Flush pending messages, send the reason to the peer, and end the connection."""
        if self._close_reason is not None:
            return
        self.resume_reading()
        self._put(encode(Goodbye(reason, code, subject)))
        self._end(reason)
        if self._transport is None:
            return
        self.flush()
        if not self._transport.is_closing():
            self._transport.write_eof()
        self._timer = self._loop.call_later(self._options.linger_s, self._abort_transport)

    def abort(self, reason: str) -> None:
        """End the connection immediately; pending messages are lost and no reason is sent."""
        if self._close_reason is None:
            self._end(reason)
        self._abort_transport()

    async def wait_closed(self) -> None:
        """Wait until the socket is closed."""
        await asyncio.shield(self._lost)

    def _end(self, reason: str) -> None:
        self._close_reason = reason
        self.closed = True
        if self._budget is not None:
            # No frame is read any more; bytes that still arrive are dropped.
            self._budget.changed(self, 0)
            self._buffer = ReceiveBuffer(MAX_HELLO_BYTES)
        if self._timer is not None:
            self._timer.cancel()
        self._loop.call_soon(self._announce_closed)

    def _announce_closed(self) -> None:
        if not self._announced:
            self._announced = True
            assert self._close_reason is not None
            self.handler.on_closed(self, self._close_reason)

    def _abort_transport(self) -> None:
        self._pieces.clear()
        self._pieces_bytes = 0
        if self._transport is not None:
            self._transport.abort()

    # -- called by the event loop -----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send Hello and start the handshake timeout."""
        # Not an isinstance check: uvloop's transports are not subclasses.
        self._transport = cast(asyncio.Transport, transport)
        self.peer_address = _address(transport.get_extra_info("peername"))
        self._apply_room()
        if self._close_reason is not None:
            self._abort_transport()
            return
        self._put(encode(self._hello))
        timeout_s = self._options.handshake_timeout_s
        self._timer = self._loop.call_later(timeout_s, self._handshake_overdue)

    def _frame_grew(self, size_bytes: int) -> None:
        if self._budget is not None and not self.closed:
            self._budget.changed(self, size_bytes)

    def get_buffer(self, sizehint: int) -> memoryview:
        """The memory for received bytes."""
        return self._buffer.room()

    def buffer_updated(self, nbytes: int) -> None:
        """Process received bytes."""
        if self.closed:
            return
        self.received_bytes += nbytes
        try:
            self._take_in(nbytes)
        except MalformedMessage as error:
            self._refuse(f"malformed message: {error}")
        except Exception:
            logger.exception("connection with %s: a message could not be handled", self._name)
            self.close("internal error while handling a message; see the other end's log")

    def eof_received(self) -> bool:
        """End the connection after the peer has closed its sending side."""
        if self._close_reason is None:
            self._end("the peer closed the connection")
        return False

    def pause_writing(self) -> None:
        """Called when the transport's buffer exceeds its high-water mark."""
        self._paused = True
        self._paused_at = self._loop.time()
        self._paused_with_bytes = self.unsent_bytes - self._pieces_bytes

    def resume_writing(self) -> None:
        """Measure the rate of the path and resume sending."""
        self._paused = False
        drained = self._paused_with_bytes - (self.unsent_bytes - self._pieces_bytes)
        before_bytes = self._room.size_bytes
        self._room.drained(drained, self._loop.time() - self._paused_at)
        if self._room.size_bytes != before_bytes:
            self._apply_room()
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._scheduled_flush)

    def _apply_room(self) -> None:
        if self._transport is not None:
            kernel_bytes = self._options.kernel_unsent_bytes
            apply_room(self._transport, self._room.size_bytes, kernel_bytes)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release all buffers after the socket was closed."""
        if self._close_reason is None:
            self._end(f"the connection was lost: {exc}" if exc else "the connection was lost")
        if self._timer is not None:
            self._timer.cancel()
        self._transport = None
        self._pieces.clear()
        self._pieces_bytes = 0
        if not self._lost.done():
            self._lost.set_result(None)

    # -- receiving --------------------------------------------------------------------------

    def pause_reading(self) -> None:
        """Stop reading from the socket; the peer's silence does not count while paused."""
        if not self._reading_paused and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._reading_paused and self._transport is not None:
            self._reading_paused = False
            self._transport.resume_reading()

    @property
    def _name(self) -> str:
        return self.peer_address if self.peer is None else f"{self.peer.name} ({self.peer_address})"

    def _take_in(self, count_bytes: int) -> None:
        messages = list(map(self._decoder.decode, self._buffer.received(count_bytes)))
        if self.peer is None and messages and not self._greeted(messages.pop(0)):
            return
        if OWN_MESSAGES.isdisjoint(map(type, messages)):
            if messages:
                self.handler.on_messages(self, messages)
        else:
            self._sort_out(messages)

    def _sort_out(self, messages: list[Message]) -> None:
        """Pass messages to the owner, up to the Goodbye if there is one."""
        farewell: Goodbye | None = None
        kept: list[Message] = []
        for message in messages:
            if isinstance(message, Goodbye):
                farewell = message
                break
            if not isinstance(message, Heartbeat):
                kept.append(message)
        if kept:
            self.handler.on_messages(self, kept)
        if farewell is not None and self._close_reason is None:
            self.farewell_code, self.farewell_subject = farewell.code, farewell.subject
            self._end(farewell.reason)
            self.flush()
            if self._transport is not None:
                self._transport.close()

    def _greeted(self, first: Message) -> bool:
        if isinstance(first, Goodbye):
            self._end(first.reason)
            self._abort_transport()
            return False
        if not isinstance(first, Hello):
            self._refuse(f"the first message must be Hello, not {type(first).__name__}")
            return False
        self.peer = first
        self._buffer.max_frame_bytes = self._options.max_frame_bytes
        assert self._timer is not None
        self._timer.cancel()
        self._timer = self._loop.call_later(self._options.heartbeat_interval_s, self._beat)
        self.handler.on_open(self)
        return self._close_reason is None

    def _refuse(self, reason: str) -> None:
        logger.warning("connection with %s closed: %s", self._name, reason)
        self.close(reason)

    # -- time -------------------------------------------------------------------------------

    def _handshake_overdue(self) -> None:
        self._refuse(f"no Hello within {self._options.handshake_timeout_s:g} s")

    def _beat(self) -> None:
        if self.received_bytes == self._received_at_last_beat and not self._reading_paused:
            self._silent_beats += 1
        else:
            self._silent_beats = 0
        self._received_at_last_beat = self.received_bytes
        if self._silent_beats >= self._options.silent_heartbeats:
            waited_s = self._silent_beats * self._options.heartbeat_interval_s
            self.abort(f"no sign of life from {self._name} for {waited_s:g} s")
            return
        if self.sent_bytes == self._sent_at_last_beat:
            self._put(HEARTBEAT)
        self._sent_at_last_beat = self.sent_bytes
        self._timer = self._loop.call_later(self._options.heartbeat_interval_s, self._beat)


def _address(peername: Any) -> str:
    if isinstance(peername, tuple) and len(peername) >= 2:
        host = f"[{peername[0]}]" if ":" in peername[0] else peername[0]
        return f"{host}:{peername[1]}"
    return str(peername or "unknown address")
