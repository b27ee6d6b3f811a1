"""Mosquitto, quality of service 1: acknowledged, and stored only in memory."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.harness.server import Server, served
from benchmarks.peers.peer import Durability, Receiver, Sender, Variant, nothing
from benchmarks.peers.window import UNCONFIRMED, ConfirmedSender
from benchmarks.peers.wire import Wire
from penstock.net.process import free_port

TOPIC: Final = b"bench"
PUBACK_BYTES: Final = 4


def _length(value: int) -> bytes:
    encoded = bytearray()
    while True:
        value, part = divmod(value, 128)
        encoded.append(part | 0x80 if value else part)
        if not value:
            return bytes(encoded)


def _packet(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + _length(len(body)) + body


def _text(text: bytes) -> bytes:
    return struct.pack(">H", len(text)) + text


def _publish_head(number: int, size: int) -> bytes:
    whole = _packet(0x32, _text(TOPIC) + struct.pack(">H", number) + bytes(size))
    return whole[: len(whole) - size]


async def _connected(port: int, name: str) -> Wire:
    wire = await Wire.open(port)
    await wire.send(_packet(0x10, _text(b"MQTT") + b"\x04\x02\x00\x00" + _text(name.encode())))
    await wire.exactly(4)
    return wire


class TopicSender(ConfirmedSender):
    """Every message in flight has its own number, by which it is confirmed."""

    def __init__(self, wire: Wire, size: int) -> None:
        """More heads than messages in flight, because they are confirmed in order."""
        super().__init__(wire)
        self._heads = [_publish_head(number, size) for number in range(1, 2 * UNCONFIRMED + 1)]
        self._next = 0
        self._odd_bytes = 0

    def encode(self, payloads: list[bytes]) -> list[bytes]:
        """The numbers are not known yet."""
        return payloads

    async def send(self, burst: Any, count: int) -> None:
        """Insert the numbers before the payloads."""
        heads = self._heads[self._next : self._next + count]
        heads += self._heads[: count - len(heads)]
        self._next = (self._next + count) % len(self._heads)
        pieces = [piece for pair in zip(heads, burst, strict=True) for piece in pair]
        await super().send(b"".join(pieces), count)

    def confirmations(self, data: bytes) -> int:
        """All answers have one length."""
        whole, self._odd_bytes = divmod(len(data) + self._odd_bytes, PUBACK_BYTES)
        return whole


class TopicReceiver:
    """All packets have one length; each is acknowledged by its number."""

    def __init__(self, wire: Wire, size: int) -> None:
        """``wire`` must be subscribed."""
        self._wire = wire
        self._size = size
        self._head_bytes = len(_publish_head(1, size))
        self._rest = b""

    async def receive(self) -> list[bytes]:
        """The complete packets."""
        length = self._head_bytes + self._size
        while len(self._rest) < length:
            self._rest += await self._wire.some()
        data, whole = self._rest, len(self._rest) // length * length
        self._rest = data[whole:]
        numbers = [data[at - 2 : at] for at in range(self._head_bytes, whole, length)]
        await self._wire.send(b"\x40\x02" + b"\x40\x02".join(numbers))
        return [data[at : at + self._size] for at in range(self._head_bytes, whole, length)]

    async def settle(self) -> None:
        """The server reads in order: the answer to a PINGREQ comes after the acknowledgements."""
        await self._wire.send(b"\xc0\x00")
        await self._wire.until(b"\xd0\x00")


@asynccontextmanager
async def open_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A producer."""
    async with TopicSender(await _connected(server.port, "producer"), size) as sender:
        yield sender


@asynccontextmanager
async def open_receiver(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """A subscriber with its own name."""
    wire = await _connected(server.port, name)
    await wire.send(_packet(0x82, b"\x00\x01" + _text(TOPIC) + b"\x01"))
    await wire.exactly(5)
    yield TopicReceiver(wire, size)
    wire.close()


@contextmanager
def start(directory: Path) -> Iterator[Server]:
    """Start it without limits on queued messages."""
    port = free_port()
    config = directory / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n"
        "max_inflight_messages 0\nmax_queued_messages 0\n"
    )
    with served(["mosquitto", "-c", str(config)], directory, port) as process:
        yield Server(port, process.pid)


TOPIC_QOS_1: Final = Variant(
    "Mosquitto, QoS 1",
    Durability.NOTHING,
    open_sender,
    open_receiver,
    nothing,
    nothing,
    part=1.0,
    keeps=False,
)
