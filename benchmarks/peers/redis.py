"""Redis Streams with a consumer group; append-only file synced always, or every second."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.peers.peer import Durability, Peer, Variant, Wire, free_port, server

UNCONFIRMED: Final = 4096
BURST: Final = 512
IDENTIFIER: Final = re.compile(rb"\$\d+\r\n(\d+-\d+)\r\n")


def _command(*words: bytes) -> bytes:
    parts = [b"*%d\r\n" % len(words)]
    parts += [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
    return b"".join(parts)


def prepare(port: int) -> None:
    """An empty stream with a group of consumers."""
    wire = Wire(port)
    wire.send(
        _command(b"DEL", b"s") + _command(b"XGROUP", b"CREATE", b"s", b"g", b"0", b"MKSTREAM")
    )
    wire.until(b"+OK\r\n")


def add(port: int, count: int, payload: bytes) -> float:
    """A window of messages is under way; every one is confirmed by its identifier."""
    wire = Wire(port)
    message = _command(b"XADD", b"s", b"*", b"p", payload)
    began = time.time()
    sent = confirmed = 0
    while confirmed < count:
        room = min(UNCONFIRMED - (sent - confirmed), count - sent)
        if room >= BURST or (room and sent + room == count):
            wire.send(message * room)
            sent += room
        else:
            # An identifier is announced by one dollar sign, and has none itself.
            confirmed += wire.some().count(b"$")
    return began


def read(port: int, count: int, size: int, ready: Callable[[], None]) -> float:
    """Reads for a group, and acknowledges what one read brought."""
    wire = Wire(port)
    request = _command(
        b"XREADGROUP", b"GROUP", b"g", b"c", b"COUNT", b"%d" % BURST, b"BLOCK", b"1000",
        b"STREAMS", b"s", b">",
    )  # fmt: skip
    ready()
    left = count
    while left:
        wire.send(request)
        data = wire.some()
        if data == b"*-1\r\n":
            continue
        while not _is_whole(data, size):
            data += wire.some()
        found = IDENTIFIER.findall(data)
        left -= len(found)
        wire.send(_command(b"XACK", b"s", b"g", *found))
        wire.until(b"\r\n")
    return time.time()


def _is_whole(data: bytes, size: int) -> bool:
    """Whether as many messages are there as the answer announces."""
    announced = re.match(rb"\*1\r\n\*2\r\n\$1\r\ns\r\n\*(\d+)\r\n", data)
    if announced is None:
        return False
    messages = int(announced[1])
    tail = b"$%d\r\n" % size
    last = data.rfind(tail)
    return data.count(tail) == messages and len(data) >= last + len(tail) + size + 2


@contextmanager
def _started(directory: Path, sync: str) -> Iterator[int]:
    port = free_port()
    command = [
        "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory),
        "--appendonly", "yes", "--appendfsync", sync, "--save", "",
    ]  # fmt: skip
    with server(command, directory, port):
        yield port


def start(sync: str) -> Callable[[Path], AbstractContextManager[int]]:
    """A server whose file is synced "always" or "everysec"."""
    return partial(_started, sync=sync)


PEERS: Final = tuple(
    Peer(
        f"Redis ({sync})",
        "redis-server",
        "redis-server",
        start(sync),
        (Variant(f"Redis Streams, AOF {sync}", durability, add, read, prepare, part=part),),
    )
    for sync, durability, part in (
        ("always", Durability.SYNCED, 0.25),
        ("everysec", Durability.WRITTEN, 0.5),
    )
)
