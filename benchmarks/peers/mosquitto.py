"""Mosquitto, quality of service 1: acknowledged, and kept in memory only."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.peers.peer import Durability, Peer, Variant, Wire, free_port, server

UNCONFIRMED: Final = 4096
BURST: Final = 256
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


def _connected(port: int, name: bytes) -> Wire:
    wire = Wire(port)
    wire.send(_packet(0x10, _text(b"MQTT") + b"\x04\x02\x00\x00" + _text(name)))
    wire.exactly(4)
    return wire


def _publish(identifier: int, payload: bytes) -> bytes:
    return _packet(0x32, _text(TOPIC) + struct.pack(">H", identifier) + payload)


def publish(port: int, count: int, payload: bytes) -> float:
    """A window of messages is under way, each under a number of its own."""
    wire = _connected(port, b"producer")
    numbered = [_publish(number, payload) for number in range(1, UNCONFIRMED + 1)]
    began = time.time()
    sent = acknowledged_bytes = 0
    while acknowledged_bytes < count * PUBACK_BYTES:
        under_way = sent - acknowledged_bytes // PUBACK_BYTES
        room = min(BURST, UNCONFIRMED - under_way, count - sent)
        if room == BURST or (room and sent + room == count):
            first = sent % UNCONFIRMED
            wire.send(b"".join(numbered[first : first + room]))
            sent += room
        else:
            acknowledged_bytes += len(wire.some())
    return began


def subscribe(port: int, count: int, size: int, ready: Callable[[], None]) -> float:
    """Packets are all of one length; each is acknowledged by its number."""
    wire = _connected(port, b"consumer")
    wire.send(_packet(0x82, b"\x00\x01" + _text(TOPIC) + b"\x01"))
    wire.exactly(5)
    ready()
    length = len(_publish(1, bytes(size)))
    number_at = length - size - 2
    received = 0
    rest = b""
    while received < count:
        rest += wire.some()
        whole = len(rest) // length
        wire.send(
            b"".join(
                b"\x40\x02" + rest[at : at + 2] for at in range(number_at, whole * length, length)
            )
        )
        rest = rest[whole * length :]
        received += whole
    return time.time()


@contextmanager
def start(directory: Path) -> Iterator[int]:
    """Without limits on what waits for a subscriber."""
    port = free_port()
    config = directory / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n"
        "max_inflight_messages 0\nmax_queued_messages 0\n"
    )
    with server(["mosquitto", "-c", str(config)], directory, port):
        yield port


PEER: Final = Peer(
    "Mosquitto",
    "mosquitto",
    "mosquitto",
    start,
    (Variant("Mosquitto, QoS 1", Durability.NOTHING, publish, subscribe, part=0.5),),
)
