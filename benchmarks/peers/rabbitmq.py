"""RabbitMQ: durable classic queue, quorum queue of one, and stream, all over AMQP 0-9-1."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.peers.amqp import AmqpConnection
from benchmarks.peers.peer import Durability, Peer, Variant, free_port, server


def prepare(port: int, *, kind: str) -> None:
    """A queue of this kind, named after it."""
    AmqpConnection(port).declare(kind, kind)


def publish(port: int, count: int, payload: bytes, *, kind: str) -> float:
    """Persistent messages, with confirmations."""
    return AmqpConnection(port).publish(kind, payload, count)


def consume(port: int, count: int, size: int, ready: Callable[[], None], *, kind: str) -> float:
    """Acknowledging up to a message, every few messages."""
    return AmqpConnection(port).consume(kind, count, ready)


@contextmanager
def start(directory: Path) -> Iterator[int]:
    """A node of its own, with its own port mapper."""
    port, mapper_port = free_port(), free_port()
    (directory / "rabbitmq.conf").write_text(f"listeners.tcp.local = 127.0.0.1:{port}\n")
    (directory / "enabled_plugins").write_text("[].\n")
    environment = {
        "HOME": str(directory),
        "RABBITMQ_NODENAME": f"bench{port}@localhost",
        "RABBITMQ_MNESIA_BASE": str(directory / "mnesia"),
        "RABBITMQ_LOG_BASE": str(directory / "log"),
        "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "enabled_plugins"),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "ERL_EPMD_PORT": str(mapper_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
    # The listener is there a moment before the node takes connections; the first one waits for it.
    try:
        with server(["rabbitmq-server"], directory, port, environment):
            yield port
    finally:
        command = ["epmd", "-port", str(mapper_port), "-kill"]
        subprocess.run(command, check=False, capture_output=True)


def _variant(kind: str, durability: Durability, part: float) -> Variant:
    return Variant(
        f"RabbitMQ {kind}",
        durability,
        partial(publish, kind=kind),
        partial(consume, kind=kind),
        partial(prepare, kind=kind),
        part=part,
    )


PEER: Final = Peer(
    "RabbitMQ",
    "rabbitmq-server",
    "rabbitmq-server",
    start,
    (
        _variant("quorum", Durability.SYNCED, 0.25),
        _variant("classic", Durability.WRITTEN, 0.25),
        _variant("stream", Durability.WRITTEN, 0.5),
    ),
)
