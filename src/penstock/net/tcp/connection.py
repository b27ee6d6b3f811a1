"""One connection: messages in, messages out, over a TCP stream.

Brokers and clients use the same class, on both sides.

1. Each end sends its ``Hello`` first.  Until the peer's has come only small frames are read, and
   anything else ends the connection with a reason.
2. Whatever one read brings is handed to the owner at once, as a list.  What the owner sends message
   by message (``send``) goes out in one write at the end of the turn of the event loop; an owner
   that has joined its messages itself hands them over at once (``write``).
3. The owner sees how much room there is (``writable_bytes``) and hears when there is room again
   (``on_writable``).  What it sends beyond that is not lost, but once more than
   ``max_unsent_bytes`` wait the connection is given up: a peer that does not read cannot make us
   hold an unbounded amount.
4. An idle end sends heartbeats; a peer of which no byte is heard for several of them is gone.
   Silence is counted in our own heartbeats and not in seconds, so that a pause of this process
   does not look like one of the peer.
5. Ending a connection says why (``Goodbye``), then shuts the sending side and reads on until the
   peer has closed too, because closing a socket with unread input destroys what is under way to
   the peer, the reason included.
6. Bytes that are not a message end this connection and touch no other.
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
"""What connections say to each other and nobody else hears."""

MAX_HELLO_BYTES: Final = 64 * 1024
"""No frame before the handshake may be larger: a stranger gets little memory."""

HEARTBEAT: Final = encode(Heartbeat())

Count = Annotated[int, msgspec.Meta(gt=0)]
Bytes = Annotated[int, msgspec.Meta(ge=4096)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class ConnectionOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a connection behaves; the defaults suit a local network and most wide-area links."""

    max_frame_bytes: Bytes = 64 * 1024 * 1024
    """The largest frame that is read: far above any sensible batch, far below the memory."""

    write_room_bytes: Bytes = 256 * 1024
    """What may be handed over before the socket has taken it, at most: enough for one turn of the
    loop at full speed.  On a slow way it is less (``write_room``)."""

    kernel_unsent_bytes: Bytes = 128 * 1024
    """What the kernel may hold beyond what is in flight, for the same reason."""

    max_unsent_bytes: Bytes = 64 * 1024 * 1024
    """A peer that lets more than this wait is disconnected."""

    heartbeat_interval_s: Seconds = 2.0
    """How long an end may be idle before it gives a sign of life."""

    silent_heartbeats: Count = 3
    """After so many of our own heartbeats without a byte the peer is taken for dead."""

    handshake_timeout_s: Seconds = 10.0
    """How long the first Hello may take: generous for a slow link, short for a stranger."""

    linger_s: Seconds = 5.0
    """How long a closing connection waits for the peer to read the reason."""


class ConnectionHandler(Protocol):
    """The owner of a connection.  All calls come from the event loop, never nested in ``send``."""

    def on_open(self, connection: Connection) -> None:
        """The handshake is done: ``connection.peer`` is the peer's Hello."""

    def on_messages(self, connection: Connection, messages: list[Message]) -> None:
        """One read brought these messages (heartbeats are left out)."""

    def on_writable(self, connection: Connection) -> None:
        """There is room to send."""

    def on_closed(self, connection: Connection, reason: str) -> None:
        """The connection is of no use any more; nothing follows."""


class Connection(asyncio.BufferedProtocol):
    """One end of a connection."""

    def __init__(
        self,
        hello: Hello,
        handler: ConnectionHandler,
        options: ConnectionOptions | None = None,
        budget: ReceiveBudget | None = None,
    ) -> None:
        """``hello`` is how this end introduces itself; ``budget`` is shared with others."""
        self.peer: Hello | None = None
        self.peer_address = "not connected"
        self.received_bytes = 0
        self.sent_bytes = 0
        self.closed = False
        """Whether the end has begun: nothing is sent or received any more."""
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
        """The code of the peer's ``Goodbye``, if it said one with a code."""
        self.farewell_subject = ""
        """What the code is about, if it is not the connection itself."""
        self._announced = False
        self._lost: asyncio.Future[None] = self._loop.create_future()

    # -- sending ----------------------------------------------------------------------------

    def send(self, message: Message) -> None:
        """Send a message at the end of this turn of the loop; ignored once the end has begun."""
        if not self.closed:
            self._put(encode(message))
            self._check_unsent()

    def write(self, pieces: list[Buffer], count_bytes: int) -> None:
        """Send encoded messages, so many bytes, at once; the pieces must not change any more.

        Unlike ``send`` it does not lead to ``on_writable`` unless the peer makes us wait.
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
        """Write what was sent without waiting for the end of the turn."""
        transport = self._transport
        if transport is None or not self._pieces:
            return
        pieces, self._pieces = self._pieces, []
        self._pieces_bytes = 0
        if not transport.is_closing():
            transport.writelines(pieces)

    @property
    def unsent_bytes(self) -> int:
        """What was sent here and is not in the kernel's hands yet."""
        queued = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._pieces_bytes + queued

    @property
    def writable_bytes(self) -> int:
        """How much can be sent without waiting here; 0 means to wait for ``on_writable``."""
        if self._paused or self.closed:
            return 0
        room_bytes = self._room.size_bytes - self.unsent_bytes
        return room_bytes if room_bytes > 0 else 0

    # -- ending -----------------------------------------------------------------------------

    def close(self, reason: str, code: str = "", subject: str = "") -> None:
        """Send what waits, tell the peer why, and end the connection."""
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
        """End the connection at once; whatever waits is lost and the peer is not told."""
        if self._close_reason is None:
            self._end(reason)
        self._abort_transport()

    async def wait_closed(self) -> None:
        """Until the socket is closed."""
        await asyncio.shield(self._lost)

    def _end(self, reason: str) -> None:
        self._close_reason = reason
        self.closed = True
        if self._budget is not None:
            # Nothing of it is read any more; what still arrives is dropped.
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
        """The socket is connected."""
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
        """Where the loop may put received bytes."""
        return self._buffer.room()

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have arrived."""
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
        """The peer sends nothing more."""
        if self._close_reason is None:
            self._end("the peer closed the connection")
        return False

    def pause_writing(self) -> None:
        """The transport holds more than it should."""
        self._paused = True
        self._paused_at = self._loop.time()
        self._paused_with_bytes = self.unsent_bytes - self._pieces_bytes

    def resume_writing(self) -> None:
        """The transport has room again."""
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
        """The socket is closed."""
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
        """Leave what the peer sends in the network; its silence does not count meanwhile."""
        if not self._reading_paused and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
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
        """Hand on what is for the owner, up to the farewell if there is one."""
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
