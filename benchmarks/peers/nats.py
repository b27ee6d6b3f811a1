"""NATS: core (nothing is kept) and JetStream with a file (written, synced every two minutes)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.peers.peer import Durability, Peer, Variant, Wire, free_port, server

BURST: Final = 256
UNCONFIRMED: Final = 4096
"""Messages under way to JetStream; more gain nothing."""
ACK_EVERY: Final = 64
STREAM: Final = "bench"


def _connected(port: int) -> Wire:
    wire = Wire(port)
    wire.until(b"\r\n")
    options = {"verbose": False, "pedantic": False, "name": "bench"}
    wire.send(f"CONNECT {json.dumps(options)}\r\nPING\r\n".encode())
    wire.until(b"PONG\r\n")
    return wire


def _messages(wire: Wire) -> Iterator[tuple[list[bytes], int]]:
    """The words of each message's header line, and how long its body is."""
    buffer = b""
    at = 0
    while True:
        end = buffer.find(b"\r\n", at)
        if end >= 0:
            words = buffer[at:end].split(b" ")
            if words[0] != b"MSG":
                at = end + 2
                continue
            size = int(words[-1])
            if len(buffer) >= end + size + 4:
                at = end + size + 4
                yield words, size
                continue
        buffer = buffer[at:] + wire.some()
        at = 0


# -- core ------------------------------------------------------------------------------------------


def publish(port: int, count: int, payload: bytes) -> float:
    """Without confirmation; the server's PONG says that it has read everything."""
    wire = _connected(port)
    burst = (b"PUB bench %d\r\n%b\r\n" % (len(payload), payload)) * BURST
    began = time.time()
    for _ in range(count // BURST):
        wire.send(burst)
    wire.send(burst[: len(burst) // BURST * (count % BURST)] + b"PING\r\n")
    wire.until(b"PONG\r\n")
    return began


def subscribe(port: int, count: int, size: int, ready: Callable[[], None]) -> float:
    """Frames are all of one length, so they are counted by their bytes."""
    wire = _connected(port)
    wire.send(b"SUB bench 1\r\nPING\r\n")
    wire.until(b"PONG\r\n")
    ready()
    left = count * (len(b"MSG bench 1 %d\r\n" % size) + size + 2)
    while left > 0:
        left -= len(wire.some())
    return time.time()


# -- JetStream -------------------------------------------------------------------------------------


def _ask(wire: Wire, subject: str, request: dict[str, object]) -> dict[str, object]:
    body = json.dumps(request)
    wire.send(f"SUB _INBOX.ask 9\r\nPUB {subject} _INBOX.ask {len(body)}\r\n{body}\r\n".encode())
    header = wire.until(b"\r\n")
    answer = json.loads(wire.exactly(int(header.split()[-1])))
    wire.exactly(2)
    wire.send(b"UNSUB 9\r\n")
    return dict(answer)


def _done(answer: dict[str, object]) -> None:
    if "error" in answer:
        raise RuntimeError(f"JetStream refused: {answer['error']}")


def make_stream(port: int) -> None:
    """A stream on disk, empty."""
    wire = _connected(port)
    # There may be one of the round before; that there is none is no error.
    _ask(wire, f"$JS.API.STREAM.DELETE.{STREAM}", {})
    stream: dict[str, object] = {"name": STREAM, "subjects": ["js"], "storage": "file"}
    _done(_ask(wire, f"$JS.API.STREAM.CREATE.{STREAM}", stream))


def publish_to_stream(port: int, count: int, payload: bytes) -> float:
    """Every message is confirmed; a window of them is under way."""
    wire = _connected(port)
    wire.send(b"SUB _INBOX.acks 1\r\n")
    message = b"PUB js _INBOX.acks %d\r\n%b\r\n" % (len(payload), payload)
    began = time.time()
    sent = confirmed = 0
    answers = _messages(wire)
    while confirmed < count:
        room = min(UNCONFIRMED - (sent - confirmed), count - sent)
        if room >= BURST or (room and sent + room == count):
            wire.send(message * room)
            sent += room
        else:
            next(answers)
            confirmed += 1
    return began


def consume_stream(port: int, count: int, size: int, ready: Callable[[], None]) -> float:
    """A push consumer that acknowledges up to a message, every few messages."""
    wire = _connected(port)
    config = {
        "durable_name": "c",
        "deliver_subject": "_INBOX.deliver",
        "ack_policy": "all",
        "max_ack_pending": 4 * UNCONFIRMED,
    }
    wire.send(b"SUB _INBOX.deliver 1\r\n")
    request: dict[str, object] = {"stream_name": STREAM, "config": config}
    _done(_ask(wire, f"$JS.API.CONSUMER.DURABLE.CREATE.{STREAM}.c", request))
    ready()
    for received, (words, _) in enumerate(_messages(wire), 1):
        if received % ACK_EVERY == 0 or received == count:
            wire.send(b"PUB %b 4\r\n+ACK\r\n" % words[3])
        if received == count:
            break
    wire.send(b"PING\r\n")
    wire.until(b"PONG\r\n")
    return time.time()


@contextmanager
def start(directory: Path) -> Iterator[int]:
    """With JetStream, in this directory."""
    port = free_port()
    config = directory / "nats.conf"
    config.write_text(
        f'listen: "127.0.0.1:{port}"\nmax_pending: 1GB\n'
        f'jetstream {{ store_dir: "{directory / "jetstream"}" }}\n'
    )
    with server(["nats-server", "-c", str(config)], directory, port):
        yield port


PEER: Final = Peer(
    "NATS",
    "nats-server",
    "nats-server",
    start,
    (
        Variant(
            "NATS JetStream, file",
            Durability.WRITTEN,
            publish_to_stream,
            consume_stream,
            make_stream,
            part=0.5,
        ),
        Variant("NATS core", Durability.NOTHING, publish, subscribe, part=2.0),
    ),
)
