"""RabbitMQ over AMQP 0-9-1: durable classic queues, quorum queues of one, streams; headers.

Messages go to an exchange; each subscription is a queue that is bound to it (every queue gets every
message), except that all readers of a stream read the one stream.
"""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.harness.server import Server, served
from benchmarks.peers import amqp
from benchmarks.peers.peer import Durability, Receiver, Selecting, Sender, Variant
from penstock.net.process import free_port

STREAM: Final = "stream"
EXCHANGE: Final = "bench"
SELECTED: Final = "selected"


def _queues(kind: str, names: Sequence[str]) -> list[str]:
    return [STREAM] if kind == STREAM else [f"{kind}-{name}" for name in names]


async def prepare(server: Server, names: Sequence[str], *, kind: str) -> None:
    """An exchange and the queues of these subscriptions."""
    connection = await amqp.AmqpConnection.open(server.port)
    await connection.make_exchange(EXCHANGE, "fanout")
    for queue in _queues(kind, names):
        await connection.make_queue(queue, kind)
        await connection.bind(queue, EXCHANGE)
    connection.close()


async def clear(server: Server, names: Sequence[str], *, kind: str) -> None:
    """Delete them."""
    connection = await amqp.AmqpConnection.open(server.port)
    await connection.delete_exchange(EXCHANGE)
    for queue in _queues(kind, names):
        await connection.delete_queue(queue)
    connection.close()


@asynccontextmanager
async def open_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A producer."""
    async with await amqp.open_sender(
        server.port, [amqp.message_head(EXCHANGE, "", size)]
    ) as sender:
        yield sender


@asynccontextmanager
async def open_receiver(
    server: Server, name: str, size: int, *, kind: str
) -> AsyncIterator[Receiver]:
    """The consumer of a subscription's queue, or of the stream from its beginning."""
    connection = await amqp.AmqpConnection.open(server.port)
    options = {"x_stream_offset": "first"} if kind == STREAM else {}
    await amqp.open_receiver(connection, _queues(kind, [name]), **options)
    yield amqp.AmqpReceiver(connection)
    connection.close()


# -- selectors -------------------------------------------------------------------------------------


def _headers(number: int) -> dict[str, str]:
    return {"kind": f"k{number}", "region": "north"}


async def prepare_selectors(server: Server, names: Sequence[str], *, selectors: int) -> None:
    """A queue for each selector, bound with the headers that it matches."""
    connection = await amqp.AmqpConnection.open(server.port)
    await connection.make_exchange(SELECTED, "headers")
    for number in range(selectors):
        await connection.make_queue(f"{SELECTED}-{number}", "classic")
        wanted = amqp.table(x_match="all", **_headers(number))
        await connection.bind(f"{SELECTED}-{number}", SELECTED, wanted)
    connection.close()


async def clear_selectors(server: Server, names: Sequence[str], *, selectors: int) -> None:
    """Delete them."""
    connection = await amqp.AmqpConnection.open(server.port)
    await connection.delete_exchange(SELECTED)
    for number in range(selectors):
        await connection.delete_queue(f"{SELECTED}-{number}")
    connection.close()


@asynccontextmanager
async def selected_sender(server: Server, size: int, *, selectors: int) -> AsyncIterator[Sender]:
    """Sends messages that match the selectors in turn."""
    heads = [
        amqp.message_head(SELECTED, "", size, amqp.table(**_headers(number)))
        for number in range(selectors)
    ]
    async with await amqp.open_sender(server.port, heads) as sender:
        yield sender


@asynccontextmanager
async def selected_receiver(
    server: Server, name: str, size: int, *, selectors: int
) -> AsyncIterator[Receiver]:
    """One connection consumes all queues."""
    connection = await amqp.AmqpConnection.open(server.port)
    await amqp.open_receiver(connection, [f"{SELECTED}-{number}" for number in range(selectors)])
    yield amqp.AmqpReceiver(connection)
    connection.close()


HEADERS: Final = Selecting(
    prepare_selectors,
    selected_sender,
    selected_receiver,
    clear_selectors,
)


# -- the server ------------------------------------------------------------------------------------


@contextmanager
def start(directory: Path) -> Iterator[Server]:
    """Start a separate node with its own port mapper and the stream protocol."""
    port, stream_port, mapper_port = free_port(), free_port(), free_port()
    (directory / "rabbitmq.conf").write_text(
        f"listeners.tcp.local = 127.0.0.1:{port}\n"
        f"stream.listeners.tcp.1 = 127.0.0.1:{stream_port}\n"
        f"stream.advertised_host = 127.0.0.1\nstream.advertised_port = {stream_port}\n"
    )
    (directory / "enabled_plugins").write_text("[rabbitmq_stream].\n")
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
    # The port is open shortly before the node accepts connections; the first one waits for it.
    try:
        with served(["rabbitmq-server"], directory, port, environment) as process:
            yield Server(port, process.pid, stream_port)
    finally:
        command = ["epmd", "-port", str(mapper_port), "-kill"]
        subprocess.run(command, check=False, capture_output=True)


def variant(
    kind: str, durability: Durability, part: float, selecting: Selecting | None = None
) -> Variant:
    """Queues of one kind."""
    return Variant(
        f"RabbitMQ {kind}" if kind != STREAM else "RabbitMQ stream over AMQP",
        durability,
        open_sender,
        partial(open_receiver, kind=kind),
        partial(prepare, kind=kind),
        partial(clear, kind=kind),
        part=part,
        # AMQP 0-9-1 cannot store the position of a reader of a stream.
        keeps=kind != STREAM,
        selecting=selecting,
    )
