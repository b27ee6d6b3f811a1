"""NATS: core (no storage) and JetStream with a file (written, synced every two minutes)."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.harness.server import Server, served
from benchmarks.peers.peer import Durability, Receiver, Sender, Variant, nothing
from benchmarks.peers.window import UNCONFIRMED, ConfirmedSender, MarkCounter
from benchmarks.peers.wire import Wire
from penstock.net.process import free_port

STREAM: Final = "bench"
SUBJECT: Final = b"js"
PING: Final = b"PING\r\n"


async def connected(port: int) -> Wire:
    """A connection without optional answers of the server."""
    wire = await Wire.open(port)
    await wire.until(b"\r\n")
    options = {"verbose": False, "pedantic": False, "name": "bench"}
    await wire.send(f"CONNECT {json.dumps(options)}\r\n".encode())
    await synchronised(wire)
    return wire


async def synchronised(wire: Wire) -> None:
    """Wait until the server has read everything that was sent."""
    await wire.send(PING)
    await wire.until(b"PONG\r\n")


def without_pings(data: bytes, length: int) -> bytes:
    """Strip the server's PINGs, which measure its round trip, from messages of one length.

    Within the duration of a run the PINGs need no answer.
    """
    kept, at = b"", 0
    while at < len(data):
        if data.startswith(PING, at):
            at += len(PING)
            continue
        kept += data[at : at + length]
        at += length
    return kept


def _published(head: bytes, payloads: list[bytes]) -> bytes:
    return head + (b"\r\n" + head).join(payloads) + b"\r\n"


# -- core ------------------------------------------------------------------------------------------


class CoreSender(ConfirmedSender):
    """No confirmations; the answer to a PING after a burst shows that the burst was read."""

    def __init__(self, wire: Wire, size: int) -> None:
        """Every message has the same head."""
        super().__init__(wire)
        self._head = b"PUB bench %d\r\n" % size
        self._pongs = MarkCounter(b"PONG")
        self._bursts: list[int] = []

    def encode(self, payloads: list[bytes]) -> bytes:
        """The burst, and a PING."""
        return _published(self._head, payloads) + PING

    async def send(self, burst: Any, count: int) -> None:
        """Record how many messages the answer will confirm."""
        self._bursts.append(count)
        await super().send(burst, count)

    def confirmations(self, data: bytes) -> int:
        """One answer for each burst, in order."""
        answered = self._pongs.count(data)
        confirmed = sum(self._bursts[:answered])
        del self._bursts[:answered]
        return confirmed


class CoreReceiver:
    """All messages have one length."""

    def __init__(self, wire: Wire, size: int) -> None:
        """``wire`` must be subscribed."""
        self._wire = wire
        self._size = size
        self._head_bytes = len(b"MSG bench 1 %d\r\n" % size)
        self._rest = b""

    async def receive(self) -> list[bytes]:
        """The complete messages."""
        length = self._head_bytes + self._size + 2
        while len(self._rest) < length:
            self._rest += await self._wire.some()
            if PING in self._rest:
                self._rest = without_pings(self._rest, length)
        data, whole = self._rest, len(self._rest) // length * length
        self._rest = data[whole:]
        return [data[at : at + self._size] for at in range(self._head_bytes, whole, length)]

    async def settle(self) -> None:
        """There is nothing to acknowledge."""


@asynccontextmanager
async def core_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A producer."""
    async with CoreSender(await connected(server.port), size) as sender:
        yield sender


@asynccontextmanager
async def core_receiver(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """A subscriber."""
    wire = await connected(server.port)
    await wire.send(b"SUB bench 1\r\n")
    await synchronised(wire)
    yield CoreReceiver(wire, size)
    wire.close()


# -- JetStream -------------------------------------------------------------------------------------


class StreamSender(ConfirmedSender):
    """Every message is confirmed to an inbox."""

    def __init__(self, wire: Wire, size: int) -> None:
        """``wire`` must be subscribed to the inbox."""
        super().__init__(wire)
        self._head = b"PUB %b _INBOX.confirmed %d\r\n" % (SUBJECT, size)
        self._confirmed = MarkCounter(b'"seq"')

    def encode(self, payloads: list[bytes]) -> bytes:
        """The burst in encoded form."""
        return _published(self._head, payloads)

    def confirmations(self, data: bytes) -> int:
        """A confirmation has the message's number in the stream."""
        if b'"error"' in data:
            raise RuntimeError(f"JetStream refused a message: {data[:200]!r}")
        return self._confirmed.count(data)


class StreamReceiver:
    """A push consumer that acknowledges up to the last message of each read."""

    def __init__(self, wire: Wire, size: int) -> None:
        """``wire`` must be subscribed to the consumer's subject."""
        self._wire = wire
        pattern = rb"MSG %b 1 (\S+) %d\r\n(.{%d})\r\n" % (SUBJECT, size, size)
        self._message = re.compile(pattern, re.DOTALL)
        self._rest = b""

    async def receive(self) -> list[bytes]:
        """The complete messages."""
        found: list[re.Match[bytes]] = []
        while not found:
            self._rest += await self._wire.some()
            found = list(self._message.finditer(self._rest))
        self._rest = self._rest[found[-1].end() :]
        await self._wire.send(b"PUB %b 4\r\n+ACK\r\n" % found[-1][1])
        return [each[2] for each in found]

    async def settle(self) -> None:
        """The server reads in order."""
        await synchronised(self._wire)


async def ask(wire: Wire, subject: str, request: dict[str, object]) -> dict[str, object]:
    """The answer to a request of JetStream's API."""
    body = json.dumps(request)
    await wire.send(
        f"SUB _INBOX.ask 9\r\nPUB $JS.API.{subject} _INBOX.ask {len(body)}\r\n{body}\r\n".encode()
    )
    header = await wire.until(b"\r\n")
    answer = json.loads(await wire.exactly(int(header.split()[-1])))
    await wire.exactly(2)
    await wire.send(b"UNSUB 9\r\n")
    return dict(answer)


def _done(answer: dict[str, object]) -> None:
    if "error" in answer:
        raise RuntimeError(f"JetStream refused: {answer['error']}")


async def make_stream(server: Server, names: Sequence[str]) -> None:
    """Create an empty stream on disk with a durable consumer for each name."""
    wire = await connected(server.port)
    # The previous run may have left a stream; its absence is no error.
    await ask(wire, f"STREAM.DELETE.{STREAM}", {})
    stream: dict[str, object] = {"name": STREAM, "subjects": ["js"], "storage": "file"}
    _done(await ask(wire, f"STREAM.CREATE.{STREAM}", stream))
    for name in names:
        config = {
            "durable_name": name,
            "deliver_subject": f"deliver.{name}",
            "ack_policy": "all",
            "max_ack_pending": 4 * UNCONFIRMED,
        }
        await make_consumer(wire, name, config)
    wire.close()


async def make_consumer(wire: Wire, name: str, config: dict[str, Any]) -> None:
    """A durable consumer of the stream."""
    request: dict[str, object] = {"stream_name": STREAM, "config": config}
    _done(await ask(wire, f"CONSUMER.DURABLE.CREATE.{STREAM}.{name}", request))


async def delete_stream(server: Server, names: Sequence[str]) -> None:
    """Delete the stream with its consumers."""
    wire = await connected(server.port)
    await ask(wire, f"STREAM.DELETE.{STREAM}", {})
    wire.close()


@asynccontextmanager
async def stream_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A producer."""
    wire = await connected(server.port)
    await wire.send(b"SUB _INBOX.confirmed 1\r\n")
    async with StreamSender(wire, size) as sender:
        yield sender


@asynccontextmanager
async def stream_receiver(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """The consumer of this name."""
    wire = await connected(server.port)
    await wire.send(f"SUB deliver.{name} 1\r\n".encode())
    yield StreamReceiver(wire, size)
    wire.close()


@contextmanager
def start(directory: Path) -> Iterator[Server]:
    """Start it with JetStream, in this directory."""
    port = free_port()
    config = directory / "nats.conf"
    config.write_text(
        f'listen: "127.0.0.1:{port}"\nmax_pending: 1GB\n'
        f'jetstream {{ store_dir: "{directory / "jetstream"}" }}\n'
    )
    with served(["nats-server", "-c", str(config)], directory, port) as process:
        yield Server(port, process.pid)


JETSTREAM: Final = Variant(
    "NATS JetStream, file",
    Durability.WRITTEN,
    stream_sender,
    stream_receiver,
    make_stream,
    delete_stream,
    part=1.0,
)
CORE: Final = Variant(
    "NATS core",
    Durability.NOTHING,
    core_sender,
    core_receiver,
    nothing,
    nothing,
    part=10.0,
    keeps=False,
)
