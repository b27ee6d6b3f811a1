"""RabbitMQ streams over their own protocol, which is much faster than AMQP.

Messages are written and replicated, not synced, before they are confirmed.  A reader stores its
offset with every chunk, as the usual clients do from time to time.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from benchmarks.harness.server import Server
from benchmarks.peers.frames import Frame, FrameReader
from benchmarks.peers.peer import Durability, Receiver, Sender, Variant
from benchmarks.peers.window import ConfirmedSender
from benchmarks.peers.wire import Wire

STREAM: Final = "own-protocol"
VERSION: Final = 1
HEAD_BYTES: Final = 8
"""Size of what follows it, key and version."""

DECLARE_PUBLISHER, PUBLISH, CONFIRM, PUBLISH_ERROR = 0x01, 0x02, 0x03, 0x04
SUBSCRIBE, DELIVER, CREDIT, STORE_OFFSET, QUERY_OFFSET = 0x07, 0x08, 0x09, 0x0A, 0x0B
CREATE, DELETE = 0x0D, 0x0E
PROPERTIES, HANDSHAKE, AUTHENTICATE, TUNE, OPEN = 0x11, 0x12, 0x13, 0x14, 0x15
ANSWER: Final = 0x8000

OK, NO_STREAM, NO_OFFSET = 0x01, 0x02, 0x13
FIRST, FROM_OFFSET = 1, 4
CHUNKS_AHEAD: Final = 10
"""Credit: chunks that the server may send before it gets more, as in the usual clients."""

CHUNK_HEAD: Final = struct.Struct(">BBHIQQQIIII")
"""Version, kind, entries, records, time, epoch, first offset, checksum, lengths."""


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def _frame(key: int, body: bytes) -> bytes:
    return struct.pack(">IHH", len(body) + 4, key, VERSION) + body


def _entry_head(size: int) -> bytes:
    """The bytes before a payload: its length, and the head of an AMQP 1.0 data section."""
    section = b"\x00\x53\x75" + (
        struct.pack(">BB", 0xA0, size) if size < 256 else struct.pack(">BI", 0xB0, size)
    )
    return struct.pack(">I", len(section) + size) + section


def _locate(data: bytes, at: int) -> tuple[int, int, int, int]:
    size, key, _ = struct.unpack_from(">IHH", data, at)
    end = at + 4 + size
    return key, at + HEAD_BYTES, end, end


def frame_reader() -> FrameReader:
    """A reader of frames, which are identified by their key."""
    return FrameReader(HEAD_BYTES, _locate)


class StreamConnection:
    """One connection, as the server's guest."""

    def __init__(self, wire: Wire) -> None:
        """Made by ``open``."""
        self.wire = wire
        self.reader = frame_reader()
        self.waiting: list[Frame] = []
        self._last_question = 0

    @classmethod
    async def open(cls, port: int) -> StreamConnection:
        """Connect."""
        connection = cls(await Wire.open(port))
        await connection.ask(PROPERTIES, bytes(4))
        await connection.ask(HANDSHAKE, b"")
        secret = b"\x00guest\x00guest"
        await connection.ask(AUTHENTICATE, _text("PLAIN") + struct.pack(">I", len(secret)) + secret)
        tune = await connection.wait(TUNE)
        # Without heartbeats, which would disturb the measurement.
        await connection.wire.send(_frame(TUNE, tune[:4] + bytes(4)))
        await connection.ask(OPEN, _text("/"))
        return connection

    async def ask(self, key: int, body: bytes, *others: int) -> tuple[int, bytes]:
        """The code of the answer, which must be OK or one of ``others``, and what follows it."""
        self._last_question += 1
        await self.wire.send(_frame(key, struct.pack(">I", self._last_question) + body))
        answer = await self.wait(ANSWER | key)
        (code,) = struct.unpack_from(">H", answer, 4)
        if code != OK and code not in others:
            raise RuntimeError(f"RabbitMQ's stream protocol refused {key:#x} with code {code:#x}")
        return code, answer[6:]

    async def wait(self, key: int) -> bytes:
        """The next frame of this kind; earlier frames are dropped."""
        while True:
            while self.waiting:
                said, body = self.waiting.pop(0)
                if said == key:
                    return body
            self.waiting = await self.frames()

    async def frames(self) -> list[Frame]:
        """The next frames."""
        if self.waiting:
            frames, self.waiting = self.waiting, []
            return frames
        return self.reader.feed(await self.wire.some())


class StreamSender(ConfirmedSender):
    """Publishes bursts; their numbers may repeat, because nothing is deduplicated."""

    def __init__(self, connection: StreamConnection, size: int) -> None:
        """The publisher must be declared."""
        super().__init__(connection.wire)
        self._reader = connection.reader
        self._head = bytes(8) + _entry_head(size)

    def encode(self, payloads: list[bytes]) -> bytes:
        """One frame."""
        messages = self._head + self._head.join(payloads)
        return _frame(PUBLISH, struct.pack(">BI", 0, len(payloads)) + messages)

    def confirmations(self, data: bytes) -> int:
        """A confirmation contains its number of messages."""
        confirmed = 0
        for key, body in self._reader.feed(data):
            if key == CONFIRM:
                confirmed += struct.unpack_from(">BI", body)[1]
            elif key == PUBLISH_ERROR:
                raise RuntimeError("RabbitMQ refused a message")
        return confirmed


class StreamReceiver:
    """Reads chunks, whose entries all have one length."""

    def __init__(self, connection: StreamConnection, name: str, size: int, after: int) -> None:
        """The stream must be subscribed; payloads up to offset ``after`` are skipped."""
        self._connection = connection
        self._stored = _text(name) + _text(STREAM)
        self._size = size
        self._entry_head_bytes = len(_entry_head(size))
        self._after = after

    async def receive(self) -> list[bytes]:
        """The payloads of the received chunks."""
        payloads: list[bytes] = []
        while not payloads:
            chunks = [body for key, body in await self._connection.frames() if key == DELIVER]
            for body in chunks:
                payloads += self._chunk(body)
            if chunks:
                credit = _frame(CREDIT, struct.pack(">BH", 0, len(chunks)))
                store = _frame(STORE_OFFSET, self._stored + struct.pack(">Q", self._after))
                await self._connection.wire.send(credit + store)
        return payloads

    def _chunk(self, body: bytes) -> list[bytes]:
        _, _, _, records, _, _, first, *_ = CHUNK_HEAD.unpack_from(body, 1)
        # The first chunk may begin before the requested offset.
        known = max(0, self._after + 1 - first)
        self._after = max(self._after, first + records - 1)
        length = self._entry_head_bytes + self._size
        begin = 1 + CHUNK_HEAD.size + self._entry_head_bytes
        return [
            body[at : at + self._size]
            for at in range(begin + known * length, begin + records * length, length)
        ]

    async def settle(self) -> None:
        """The server reads in order: it answers after it has stored the offset."""
        await self._connection.ask(QUERY_OFFSET, self._stored, NO_OFFSET)


async def make_stream(server: Server, names: Sequence[str]) -> None:
    """An empty stream."""
    connection = await StreamConnection.open(server.other_port)
    await connection.ask(DELETE, _text(STREAM), NO_STREAM)
    await connection.ask(CREATE, _text(STREAM) + bytes(4))
    connection.wire.close()


async def delete_stream(server: Server, names: Sequence[str]) -> None:
    """Delete the stream with the offsets of its readers."""
    connection = await StreamConnection.open(server.other_port)
    await connection.ask(DELETE, _text(STREAM))
    connection.wire.close()


@asynccontextmanager
async def open_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A producer."""
    connection = await StreamConnection.open(server.other_port)
    await connection.ask(DECLARE_PUBLISHER, b"\x00" + _text("") + _text(STREAM))
    async with StreamSender(connection, size) as sender:
        yield sender


@asynccontextmanager
async def open_receiver(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """A reader that continues after the offset stored under its name."""
    connection = await StreamConnection.open(server.other_port)
    code, stored = await connection.ask(QUERY_OFFSET, _text(name) + _text(STREAM), NO_OFFSET)
    after = struct.unpack_from(">Q", stored)[0] if code == OK else -1
    start = struct.pack(">HQ", FROM_OFFSET, after + 1) if code == OK else struct.pack(">H", FIRST)
    credit = struct.pack(">H", CHUNKS_AHEAD)
    await connection.ask(SUBSCRIBE, b"\x00" + _text(STREAM) + start + credit)
    yield StreamReceiver(connection, name, size, after)
    connection.wire.close()


STREAMS: Final = Variant(
    "RabbitMQ stream",
    Durability.WRITTEN,
    open_sender,
    open_receiver,
    make_stream,
    delete_stream,
)
