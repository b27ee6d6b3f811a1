"""A raw AMQP 0-9-1 client, as quick as such a client can be, to drive RabbitMQ in benchmarks.

It says only what a durable queue with confirmations and acknowledgements needs, from pre-encoded
frames over a blocking socket: the peer is measured at its best, not its Python client.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Generator

FRAME_END = b"\xce"
METHOD, HEADER, BODY = 1, 2, 3
UNCONFIRMED = 4096
"""Messages that a producer has under way: more gain nothing."""
ACK_EVERY = 64
"""Messages that one acknowledgement of the consumer covers."""


def _short(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def _frame(kind: int, channel: int, payload: bytes) -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + FRAME_END


def _method(channel: int, group: int, number: int, arguments: bytes = b"") -> bytes:
    return _frame(METHOD, channel, struct.pack(">HH", group, number) + arguments)


class AmqpConnection:
    """One connection with one channel."""

    def __init__(self, port: int) -> None:
        """Connect to a broker on this machine as its guest."""
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()
        self._socket.sendall(b"AMQP\x00\x00\x09\x01")
        self._wait(10, 10)
        response = b"\x00guest\x00guest"
        start = bytes(4) + _short("PLAIN") + struct.pack(">I", len(response)) + response
        self._socket.sendall(_method(0, 10, 11, start + _short("en_US")))
        tune = self._wait(10, 30)
        self._socket.sendall(_method(0, 10, 31, tune[:6] + b"\x00\x00"))
        self._socket.sendall(_method(0, 10, 40, _short("/") + _short("") + b"\x00"))
        self._wait(10, 41)
        self._socket.sendall(_method(1, 20, 10, _short("")))
        self._wait(20, 11)

    def declare(self, queue: str, kind: str) -> None:
        """A durable queue: "quorum", "classic" or "stream"."""
        value = struct.pack(">I", len(kind)) + kind.encode()
        table = _short("x-queue-type") + b"S" + value
        arguments = b"\x00\x00" + _short(queue) + b"\x02" + struct.pack(">I", len(table)) + table
        self._socket.sendall(_method(1, 50, 10, arguments))
        self._wait(50, 11)

    def publish(self, queue: str, body: bytes, count: int) -> float:
        """Publish persistent messages and wait for all confirmations; when the first was sent."""
        self._socket.sendall(_method(1, 85, 10, b"\x00"))
        self._wait(85, 11)
        properties = struct.pack(">HHQHB", 60, 0, len(body), 0x1000, 2)
        publish = b"\x00\x00" + _short("") + _short(queue) + b"\x00"
        message = (
            _method(1, 60, 40, publish) + _frame(HEADER, 1, properties) + _frame(BODY, 1, body)
        )
        began = time.time()
        sent = confirmed = 0
        frames = self._frames()
        while confirmed < count:
            room = min(UNCONFIRMED - (sent - confirmed), count - sent)
            if room >= UNCONFIRMED // 8 or (room and sent + room == count):
                self._socket.sendall(message * room)
                sent += room
                continue
            _, payload = next(frames)
            group, number = struct.unpack_from(">HH", payload)
            if (group, number) == (60, 80):
                tag, multiple = struct.unpack_from(">QB", payload, 4)
                confirmed = tag if multiple else confirmed + 1
            elif (group, number) == (60, 120):
                raise RuntimeError("the broker refused a message")
        return began

    def consume(self, queue: str, count: int, ready: Callable[[], None]) -> float:
        """Receive and acknowledge so many messages; when the last was acknowledged."""
        self._socket.sendall(_method(1, 60, 10, struct.pack(">IHB", 0, 4 * UNCONFIRMED - 1, 0)))
        self._wait(60, 11)
        consume = b"\x00\x00" + _short(queue) + _short("c") + b"\x00" + bytes(4)
        self._socket.sendall(_method(1, 60, 20, consume))
        self._wait(60, 21)
        ready()
        received = 0
        frames = self._frames()
        for kind, payload in frames:
            if kind == METHOD and payload[:4] == b"\x00\x3c\x00\x3c":
                received += 1
                if received % ACK_EVERY == 0 or received == count:
                    at = 5 + payload[4]
                    acknowledged = payload[at : at + 8] + b"\x01"
                    self._socket.sendall(_method(1, 60, 80, acknowledged))
                if received == count:
                    break
        frames.close()
        # The answer to a harmless request shows that the acknowledgements before it were read.
        self._socket.sendall(_method(1, 60, 10, struct.pack(">IHB", 0, 1, 0)))
        self._wait(60, 11)
        return time.time()

    def _frames(self) -> Generator[tuple[int, bytes], None, None]:
        """Frames as they come; whoever stops early leaves the rest for ``_wait``."""
        rest = self._buffer
        self._buffer = bytearray()
        at = 0
        try:
            while True:
                while len(rest) - at >= 8:
                    kind, _, size = struct.unpack_from(">BHI", rest, at)
                    if len(rest) - at < size + 8:
                        break
                    start, at = at + 7, at + size + 8
                    yield kind, bytes(rest[start : start + size])
                more = self._socket.recv(1 << 20)
                if not more:
                    raise ConnectionError("RabbitMQ closed the connection")
                rest = rest[at:] + more
                at = 0
        finally:
            self._buffer = bytearray(rest[at:])

    def _wait(self, group: int, number: int) -> bytes:
        """The arguments of the next method of this kind."""
        while True:
            while len(self._buffer) >= 8:
                kind, _, size = struct.unpack_from(">BHI", self._buffer)
                if len(self._buffer) < size + 8:
                    break
                payload = bytes(self._buffer[7 : 7 + size])
                del self._buffer[: size + 8]
                if kind == METHOD and struct.unpack_from(">HH", payload) == (group, number):
                    return payload[4:]
                if kind == METHOD and payload[:4] in (b"\x00\x0a\x00\x32", b"\x00\x14\x00\x28"):
                    raise RuntimeError(f"RabbitMQ refused: {payload[4:]!r}")
            more = self._socket.recv(1 << 20)
            if not more:
                raise ConnectionError("RabbitMQ closed the connection")
            self._buffer += more
