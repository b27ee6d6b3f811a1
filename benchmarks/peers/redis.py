"""Redis Streams with consumer groups; append-only file synced always, or every second."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.harness.server import Server, served
from benchmarks.peers.peer import Durability, Receiver, Sender, Variant
from benchmarks.peers.window import ConfirmedSender
from benchmarks.peers.wire import Wire
from penstock.net.process import free_port

AT_ONCE: Final = 512
"""Messages of one read at most."""

PATIENCE_MS: Final = 1000
"""How long the server blocks a read while there is no message."""

NOTHING_CAME: Final = b"*-1\r\n"
STREAM: Final = b"s"


def _command(*words: bytes) -> bytes:
    parts = [b"*%d\r\n" % len(words)]
    parts += [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
    return b"".join(parts)


class StreamSender(ConfirmedSender):
    """Every message is confirmed by its identifier."""

    def __init__(self, wire: Wire, size: int) -> None:
        """Every command has the same head."""
        super().__init__(wire)
        whole = _command(b"XADD", STREAM, b"*", b"p", bytes(size))
        self._head = whole[: -size - 2]

    def encode(self, payloads: list[bytes]) -> bytes:
        """The burst in encoded form."""
        return self._head + (b"\r\n" + self._head).join(payloads) + b"\r\n"

    def confirmations(self, data: bytes) -> int:
        """An identifier is preceded by one dollar sign, and contains none."""
        if data.startswith(b"-") or b"\n-" in data:
            raise RuntimeError(f"Redis refused a message: {data[:200]!r}")
        return data.count(b"$")


class GroupReceiver:
    """Reads for a group; the next read acknowledges the messages of this one."""

    def __init__(self, wire: Wire, group: bytes, size: int) -> None:
        """The group must exist."""
        self._wire = wire
        self._group = group
        self._read = _command(
            b"XREADGROUP", b"GROUP", group, b"c", b"COUNT", b"%d" % AT_ONCE,
            b"BLOCK", b"%d" % PATIENCE_MS, b"STREAMS", STREAM, b">",
        )  # fmt: skip
        self._message = re.compile(
            rb"\$\d+\r\n(\d+-\d+)\r\n\*2\r\n\$1\r\np\r\n\$%d\r\n(.{%d})\r\n" % (size, size),
            re.DOTALL,
        )
        self._announced = re.compile(rb"\*1\r\n\*2\r\n\$1\r\ns\r\n\*(\d+)\r\n")
        self._done: list[bytes] = []

    async def receive(self) -> list[bytes]:
        """The messages of one read."""
        while True:
            acknowledge = self._acknowledgement()
            await self._wire.send(acknowledge + self._read)
            if acknowledge:
                await self._wire.until(b"\r\n")
            data = await self._wire.some()
            while data != NOTHING_CAME:
                announced = self._announced.match(data)
                found = self._message.findall(data) if announced else []
                if announced and len(found) == int(announced[1]):
                    self._done = [identifier for identifier, _ in found]
                    return [payload for _, payload in found]
                data += await self._wire.some()

    async def settle(self) -> None:
        """Acknowledge the messages of the last read."""
        if self._done:
            await self._wire.send(self._acknowledgement())
            await self._wire.until(b"\r\n")

    def _acknowledgement(self) -> bytes:
        done, self._done = self._done, []
        return _command(b"XACK", STREAM, self._group, *done) if done else b""


async def make_stream(server: Server, names: Sequence[str]) -> None:
    """An empty stream with a group for each name."""
    await clear(server, ())
    wire = await Wire.open(server.port)
    for name in names:
        await wire.send(_command(b"XGROUP", b"CREATE", STREAM, name.encode(), b"0", b"MKSTREAM"))
        await wire.until(b"+OK\r\n")
    wire.close()


async def clear(server: Server, names: Sequence[str]) -> None:
    """Delete the stream, and with it its groups."""
    wire = await Wire.open(server.port)
    await wire.send(_command(b"DEL", STREAM))
    await wire.until(b"\r\n")
    wire.close()


@asynccontextmanager
async def open_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A producer."""
    async with StreamSender(await Wire.open(server.port), size) as sender:
        yield sender


@asynccontextmanager
async def open_receiver(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """The only consumer of the group of this name."""
    wire = await Wire.open(server.port)
    yield GroupReceiver(wire, name.encode(), size)
    wire.close()


@contextmanager
def _started(directory: Path, sync: str) -> Iterator[Server]:
    port = free_port()
    command = [
        "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory),
        "--appendonly", "yes", "--appendfsync", sync, "--save", "",
    ]  # fmt: skip
    with served(command, directory, port) as process:
        yield Server(port, process.pid)


def start(sync: str) -> Callable[[Path], AbstractContextManager[Server]]:
    """A server whose file is synced "always" or "everysec"."""
    return partial(_started, sync=sync)


def variant(sync: str, durability: Durability, part: float) -> Variant:
    """Streams on a server with this setting."""
    name = f"Redis Streams, AOF {sync}"
    return Variant(name, durability, open_sender, open_receiver, make_stream, clear, part=part)
