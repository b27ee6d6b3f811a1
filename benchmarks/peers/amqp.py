"""A raw AMQP 0-9-1 client, as fast as such a client can be, to drive RabbitMQ in benchmarks.

It implements only what durable queues with confirmations and acknowledgements need, with
pre-encoded frames: this measures the peer at its best, not its Python client.
"""

from __future__ import annotations

import struct
from itertools import cycle
from typing import Any, Final

from benchmarks.peers.frames import Frame, FrameReader
from benchmarks.peers.window import UNCONFIRMED, ConfirmedSender
from benchmarks.peers.wire import Wire

FRAME_END: Final = b"\xce"
HEAD_BYTES: Final = 7
METHOD, HEADER, BODY = 1, 2, 3
CHANNEL: Final = 1
PERSISTENT: Final = b"\x02"
HAS_MODE, HAS_HEADERS = 0x1000, 0x2000

START, START_OK = (10, 10), (10, 11)
TUNE, TUNE_OK = (10, 30), (10, 31)
OPEN, OPEN_OK, REFUSED = (10, 40), (10, 41), (10, 50)
CHANNEL_OPEN, CHANNEL_OPEN_OK, CHANNEL_REFUSED = (20, 10), (20, 11), (20, 40)
EXCHANGE_DECLARE, EXCHANGE_DECLARE_OK = (40, 10), (40, 11)
EXCHANGE_DELETE, EXCHANGE_DELETE_OK = (40, 20), (40, 21)
QUEUE_DECLARE, QUEUE_DECLARE_OK = (50, 10), (50, 11)
QUEUE_BIND, QUEUE_BIND_OK = (50, 20), (50, 21)
QUEUE_DELETE, QUEUE_DELETE_OK = (50, 40), (50, 41)
PREFETCH, PREFETCH_OK = (60, 10), (60, 11)
CONSUME, CONSUME_OK = (60, 20), (60, 21)
PUBLISH, DELIVER, ACKNOWLEDGE, REFUSE = (60, 40), (60, 60), (60, 80), (60, 120)
CONFIRM, CONFIRM_OK = (85, 10), (85, 11)

Method = tuple[int, int]


def short(text: str) -> bytes:
    """A string of at most 255 bytes."""
    return bytes([len(text)]) + text.encode()


def long(data: bytes) -> bytes:
    """A string or table of any length."""
    return struct.pack(">I", len(data)) + data


def table(**fields: str) -> bytes:
    """A table of strings; underscores in names are replaced by hyphens."""
    entries = [short(n.replace("_", "-")) + b"S" + long(v.encode()) for n, v in fields.items()]
    return long(b"".join(entries))


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    """A frame as it is sent."""
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + FRAME_END


def method(number: Method, arguments: bytes = b"", channel: int = CHANNEL) -> bytes:
    """A method's frame."""
    return frame(METHOD, channel, struct.pack(">HH", *number) + arguments)


def message_head(exchange: str, key: str, size: int, headers: bytes = b"") -> bytes:
    """Everything before the payload of a persistent message."""
    flags = HAS_MODE | (HAS_HEADERS if headers else 0)
    properties = struct.pack(">HHQH", 60, 0, size, flags) + headers + PERSISTENT
    publish = b"\x00\x00" + short(exchange) + short(key) + b"\x00"
    body = struct.pack(">BHI", BODY, CHANNEL, size)
    return method(PUBLISH, publish) + frame(HEADER, CHANNEL, properties) + body


def _locate(data: bytes, at: int) -> tuple[int, int, int, int]:
    kind, _, size = struct.unpack_from(">BHI", data, at)
    return kind, at + HEAD_BYTES, at + HEAD_BYTES + size, at + HEAD_BYTES + size + len(FRAME_END)


def frame_reader() -> FrameReader:
    """A reader of AMQP's frames."""
    return FrameReader(HEAD_BYTES, _locate)


class AmqpConnection:
    """One connection with one channel."""

    def __init__(self, wire: Wire) -> None:
        """Made by ``open``."""
        self.wire = wire
        self.reader = frame_reader()
        self.waiting: list[Frame] = []

    @classmethod
    async def open(cls, port: int) -> AmqpConnection:
        """Connect to a broker on this machine as its guest."""
        connection = cls(await Wire.open(port))
        await connection.wire.send(b"AMQP\x00\x00\x09\x01")
        await connection.wait(START)
        start = bytes(4) + short("PLAIN") + long(b"\x00guest\x00guest") + short("en_US")
        await connection.wire.send(method(START_OK, start, 0))
        tune = await connection.wait(TUNE)
        # Without heartbeats, which would disturb the measurement.
        await connection.wire.send(method(TUNE_OK, tune[:6] + b"\x00\x00", 0))
        await connection.ask(OPEN, short("/") + short("") + b"\x00", OPEN_OK, 0)
        await connection.ask(CHANNEL_OPEN, short(""), CHANNEL_OPEN_OK)
        return connection

    def close(self) -> None:
        """Disconnect without a closing handshake."""
        self.wire.close()

    async def ask(
        self, number: Method, arguments: bytes, answer: Method, channel: int = CHANNEL
    ) -> bytes:
        """The arguments of the answer."""
        await self.wire.send(method(number, arguments, channel))
        return await self.wait(answer)

    async def wait(self, number: Method) -> bytes:
        """The arguments of the next method of this kind; earlier frames are dropped."""
        while True:
            while self.waiting:
                kind, payload = self.waiting.pop(0)
                if kind != METHOD:
                    continue
                said = struct.unpack_from(">HH", payload)
                if said == number:
                    return payload[4:]
                if said in (REFUSED, CHANNEL_REFUSED):
                    raise RuntimeError(f"RabbitMQ refused: {payload[7 : 7 + payload[6]].decode()}")
            self.waiting += self.reader.feed(await self.wire.some())

    async def frames(self) -> list[Frame]:
        """The next frames."""
        if self.waiting:
            frames, self.waiting = self.waiting, []
            return frames
        return self.reader.feed(await self.wire.some())

    # -- exchanges and queues -------------------------------------------------------------------

    async def make_exchange(self, name: str, kind: str) -> None:
        """Afresh."""
        await self.delete_exchange(name)
        arguments = b"\x00\x00" + short(name) + short(kind) + b"\x02" + table()
        await self.ask(EXCHANGE_DECLARE, arguments, EXCHANGE_DECLARE_OK)

    async def delete_exchange(self, name: str) -> None:
        """Delete the exchange with its bindings."""
        await self.ask(EXCHANGE_DELETE, b"\x00\x00" + short(name) + b"\x00", EXCHANGE_DELETE_OK)

    async def make_queue(self, name: str, kind: str) -> None:
        """Create a new durable queue: "quorum", "classic" or "stream"."""
        await self.delete_queue(name)
        arguments = b"\x00\x00" + short(name) + b"\x02" + table(x_queue_type=kind)
        await self.ask(QUEUE_DECLARE, arguments, QUEUE_DECLARE_OK)

    async def bind(self, queue: str, exchange: str, headers: bytes = b"") -> None:
        """Route messages of the exchange to the queue, only those with these headers if given."""
        arguments = b"\x00\x00" + short(queue) + short(exchange) + short("") + b"\x00"
        await self.ask(QUEUE_BIND, arguments + (headers or table()), QUEUE_BIND_OK)

    async def delete_queue(self, name: str) -> None:
        """Delete the queue with its messages."""
        await self.ask(QUEUE_DELETE, b"\x00\x00" + short(name) + b"\x00", QUEUE_DELETE_OK)


class AmqpSender(ConfirmedSender):
    """Persistent messages with confirmations; several heads are used in turn."""

    def __init__(self, connection: AmqpConnection, heads: list[bytes]) -> None:
        """Made by ``open_sender``."""
        super().__init__(connection.wire)
        self._reader = connection.reader
        self._heads = heads
        self._next = cycle(heads)
        self._confirmed = 0
        self._singly: set[int] = set()

    def encode(self, payloads: list[bytes]) -> Any:
        """The burst in encoded form, if all messages have one head."""
        if len(self._heads) > 1:
            return payloads
        head = self._heads[0]
        return head + (FRAME_END + head).join(payloads) + FRAME_END

    async def send(self, burst: Any, count: int) -> None:
        """Insert the heads before the payloads, unless there is only one."""
        if len(self._heads) > 1:
            pieces = [
                piece
                for head, payload in zip(self._next, burst, strict=False)
                for piece in (head, payload, FRAME_END)
            ]
            burst = b"".join(pieces)
        await super().send(burst, count)

    def confirmations(self, data: bytes) -> int:
        """A confirmation covers one message, or all up to it."""
        before = self._confirmed + len(self._singly)
        for kind, payload in self._reader.feed(data):
            said = struct.unpack_from(">HH", payload) if kind == METHOD else None
            if said == ACKNOWLEDGE:
                self._confirm(*struct.unpack_from(">QB", payload, 4))
            elif said in (REFUSE, REFUSED, CHANNEL_REFUSED):
                raise RuntimeError("RabbitMQ refused a message")
        return self._confirmed + len(self._singly) - before

    def _confirm(self, tag: int, multiple: int) -> None:
        if multiple:
            self._confirmed = max(self._confirmed, tag)
            self._singly = {each for each in self._singly if each > tag}
        elif tag == self._confirmed + 1:
            self._confirmed = tag
        else:
            self._singly.add(tag)
        while self._confirmed + 1 in self._singly:
            self._confirmed += 1
            self._singly.remove(self._confirmed)


class AmqpReceiver:
    """Consumes queues, and acknowledges up to the last message of each read."""

    def __init__(self, connection: AmqpConnection) -> None:
        """Made by ``open_receiver``."""
        self._connection = connection

    async def receive(self) -> list[bytes]:
        """A payload is one frame: it is smaller than the largest frame."""
        tag = b""
        payloads: list[bytes] = []
        while not payloads:
            for kind, payload in await self._connection.frames():
                if kind == BODY:
                    payloads.append(payload)
                elif kind == METHOD and struct.unpack_from(">HH", payload) == DELIVER:
                    at = 5 + payload[4]
                    tag = payload[at : at + 8]
        # The payload of the last announced delivery may still be in flight.  It is acknowledged
        # slightly early, which no figure can show.
        if tag:
            await self._connection.wire.send(method(ACKNOWLEDGE, tag + b"\x01"))
        return payloads

    async def settle(self) -> None:
        """The broker reads in order: it answers a no-op request after the acknowledgements."""
        await self._connection.ask(PREFETCH, struct.pack(">IHB", 0, 1, 0), PREFETCH_OK)


async def open_sender(port: int, heads: list[bytes]) -> AmqpSender:
    """A sender whose messages have these heads in turn."""
    connection = await AmqpConnection.open(port)
    await connection.ask(CONFIRM, b"\x00", CONFIRM_OK)
    return AmqpSender(connection, heads)


async def open_receiver(connection: AmqpConnection, queues: list[str], **options: str) -> None:
    """Start to consume these queues, with the largest prefetch that the protocol allows."""
    arguments = struct.pack(">IHB", 0, 4 * UNCONFIRMED - 1, 0)
    await connection.ask(PREFETCH, arguments, PREFETCH_OK)
    for number, queue in enumerate(queues):
        consume = b"\x00\x00" + short(queue) + short(f"c{number}") + b"\x00" + table(**options)
        await connection.wire.send(method(CONSUME, consume))
