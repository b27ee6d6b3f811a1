"""A raw STOMP 1.1 client for JMS brokers: ActiveMQ and Artemis.

A topic with durable subscriptions, persistent messages with a receipt for each burst, and selectors
on two properties.  STOMP is what these brokers offer to programs not written in Java.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import cycle
from typing import Any, Final

import msgspec

from benchmarks.harness.server import Server
from benchmarks.peers.peer import Durability, Receiver, Selecting, Sender, Variant
from benchmarks.peers.window import ConfirmedSender, MarkCounter
from benchmarks.peers.wire import Wire

END: Final = b"\x00\n"
PREFETCH: Final = 16_384
HEAD_END: Final = b"\n\n"
SELECTING: Final = "selecting"

ATTEMPTS: Final = 100
ATTEMPT_EVERY_S: Final = 0.1
"""Ten seconds in total."""


class Dialect(msgspec.Struct, frozen=True):
    """The names that differ between the two brokers."""

    topic: str
    selected: str
    durable_header: str
    """The header that names a durable subscription."""
    unsubscribe_header: str
    """The same when it is deleted."""
    further: tuple[tuple[str, str], ...]
    """Headers that every subscription has."""
    sending: tuple[tuple[str, str], ...]
    """Headers that every message has."""


def frame(command: str, headers: dict[str, str]) -> bytes:
    """A frame without a body."""
    return head(command, headers) + END


def head(command: str, headers: dict[str, str]) -> bytes:
    """Everything before the body."""
    lines = [command, *(f"{name}:{value}" for name, value in headers.items())]
    return "\n".join(lines).encode() + HEAD_END


async def connected(server: Server, name: str) -> Wire:
    """A connection with its own name, without heartbeats.

    A broker needs a moment to notice that the previous connection of this name is closed.
    """
    headers = {"accept-version": "1.1", "host": "localhost", "client-id": name, "heart-beat": "0,0"}
    for _ in range(ATTEMPTS):
        wire = await Wire.open(server.port)
        await wire.send(frame("CONNECT", headers))
        answer = (await wire.until(b"\x00")).lstrip()
        if answer.startswith(b"CONNECTED"):
            return wire
        wire.close()
        if b"already" not in answer:
            break
        await asyncio.sleep(ATTEMPT_EVERY_S)
    raise RuntimeError(f"the broker refused: {answer[:200]!r}")


async def confirmed(wire: Wire, command: str, headers: dict[str, str]) -> None:
    """Send a frame and wait for the receipt."""
    await wire.send(frame(command, {**headers, "receipt": "done"}))
    while True:
        answer = (await wire.until(b"\x00")).lstrip()
        if answer.startswith(b"ERROR"):
            raise RuntimeError(f"the broker refused {command}: {answer[:200]!r}")
        if answer.startswith(b"RECEIPT"):
            return


class TopicSender(ConfirmedSender):
    """Persistent messages, each with a receipt; several heads are used in turn."""

    def __init__(self, wire: Wire, heads: list[bytes]) -> None:
        """The heads request the receipts."""
        super().__init__(wire)
        self._heads = heads
        self._next = cycle(heads)
        self._receipts = MarkCounter(b"receipt-id")

    def encode(self, payloads: list[bytes]) -> Any:
        """The burst in encoded form, if all messages have one head."""
        if len(self._heads) > 1:
            return payloads
        only = self._heads[0]
        return only + (END + only).join(payloads) + END

    async def send(self, burst: Any, count: int) -> None:
        """Insert the heads before the payloads, unless there is only one."""
        if len(self._heads) > 1:
            pairs = zip(self._next, burst, strict=False)
            burst = b"".join([piece for one, body in pairs for piece in (one, body, END)])
        await super().send(burst, count)

    def confirmations(self, data: bytes) -> int:
        """A receipt names its message."""
        if b"ERROR\n" in data:
            raise RuntimeError(f"the broker refused a message: {data[:200]!r}")
        return self._receipts.count(data)


class TopicReceiver:
    """Reads messages, and acknowledges up to the last one of each read."""

    def __init__(self, wire: Wire, size: int) -> None:
        """``wire`` must be subscribed."""
        self._wire = wire
        self._size = size
        self._rest = b""

    async def receive(self) -> list[bytes]:
        """The complete messages."""
        payloads: list[bytes] = []
        last: dict[bytes, bytes] = {}
        while not payloads:
            data = self._rest + await self._wire.some()
            at = 0
            while (end := data.find(HEAD_END, at)) >= 0:
                begin = end + len(HEAD_END)
                if len(data) <= begin + self._size:
                    break
                said = data[at:begin]
                if not said.lstrip().startswith(b"MESSAGE"):
                    raise RuntimeError(f"the broker said {said[:200]!r}")
                payloads.append(data[begin : begin + self._size])
                last[_header(said, b"subscription")] = _header(said, b"message-id")
                at = begin + self._size + 1
            self._rest = data[at:]
        await self._wire.send(
            b"".join(
                b"ACK\nsubscription:%b\nmessage-id:%b\n\n\x00\n" % each for each in last.items()
            )
        )
        return payloads

    async def settle(self) -> None:
        """The broker reads in order: a receipt comes after the acknowledgements."""
        await confirmed(self._wire, "BEGIN", {"transaction": "end"})


def _header(said: bytes, name: bytes) -> bytes:
    begin = said.index(b"\n" + name + b":") + len(name) + 2
    return said[begin : said.index(b"\n", begin)]


# -- a topic with durable subscriptions ------------------------------------------------------------


def _subscription(dialect: Dialect, name: str, destination: str) -> dict[str, str]:
    return {
        "id": name,
        "destination": destination,
        "ack": "client",
        dialect.durable_header: name,
        **dict(dialect.further),
    }


def _message_head(dialect: Dialect, destination: str, size: int, **properties: str) -> bytes:
    headers = {
        "destination": destination,
        "content-length": str(size),
        "persistent": "true",
        "receipt": "r",
        **dict(dialect.sending),
        **properties,
    }
    return head("SEND", headers)


async def subscribe(server: Server, names: Sequence[str], *, dialect: Dialect) -> None:
    """Create the subscriptions, which collect from now on."""
    for name in names:
        wire = await connected(server, name)
        await confirmed(wire, "SUBSCRIBE", _subscription(dialect, name, dialect.topic))
        await confirmed(wire, "DISCONNECT", {})
        wire.close()


async def unsubscribe(server: Server, names: Sequence[str], *, dialect: Dialect) -> None:
    """Delete them."""
    for name in names:
        await _delete(server, name, [name], dialect.topic, dialect)


async def _delete(
    server: Server, client: str, names: Sequence[str], destination: str, dialect: Dialect
) -> None:
    """Delete subscriptions of one client.

    A broker needs a moment to notice that a consumer has left.  Until then it refuses, and closes
    the connection.
    """
    left = list(names)
    for _ in range(ATTEMPTS):
        wire = await connected(server, client)
        try:
            while left:
                headers = {"id": left[-1], dialect.unsubscribe_header: left[-1]}
                await confirmed(wire, "UNSUBSCRIBE", {**headers, "destination": destination})
                left.pop()
        except (RuntimeError, ConnectionError) as refused:
            last = refused
        else:
            return
        finally:
            wire.close()
        await asyncio.sleep(ATTEMPT_EVERY_S)
    raise last


@asynccontextmanager
async def open_sender(server: Server, size: int, *, dialect: Dialect) -> AsyncIterator[Sender]:
    """A producer."""
    heads = [_message_head(dialect, dialect.topic, size)]
    async with TopicSender(await connected(server, "producer"), heads) as sender:
        yield sender


@asynccontextmanager
async def open_receiver(
    server: Server, name: str, size: int, *, dialect: Dialect
) -> AsyncIterator[Receiver]:
    """The durable subscription of this name."""
    wire = await connected(server, name)
    await wire.send(frame("SUBSCRIBE", _subscription(dialect, name, dialect.topic)))
    yield TopicReceiver(wire, size)
    wire.close()


# -- selectors -------------------------------------------------------------------------------------


async def no_preparation(server: Server, names: Sequence[str], *, selectors: int) -> None:
    """The receiver creates subscriptions with selectors."""


async def clear_selectors(
    server: Server, names: Sequence[str], *, selectors: int, dialect: Dialect
) -> None:
    """Delete them."""
    each = [f"s{number}" for number in range(selectors)]
    await _delete(server, SELECTING, each, dialect.selected, dialect)


@asynccontextmanager
async def selected_sender(
    server: Server, size: int, *, selectors: int, dialect: Dialect
) -> AsyncIterator[Sender]:
    """Sends messages that match the selectors in turn."""
    heads = [
        _message_head(dialect, dialect.selected, size, kind=f"k{number}", region="north")
        for number in range(selectors)
    ]
    async with TopicSender(await connected(server, "producer"), heads) as sender:
        yield sender


@asynccontextmanager
async def selected_receiver(
    server: Server, name: str, size: int, *, selectors: int, dialect: Dialect
) -> AsyncIterator[Receiver]:
    """A durable subscription for each selector, over one connection."""
    wire = await connected(server, SELECTING)
    for number in range(selectors):
        headers = _subscription(dialect, f"s{number}", dialect.selected)
        headers["selector"] = f"kind = 'k{number}' AND region = 'north'"
        await confirmed(wire, "SUBSCRIBE", headers)
    yield TopicReceiver(wire, size)
    wire.close()


def variant(name: str, dialect: Dialect, part: float) -> Variant:
    """Durable subscriptions, with JMS selectors where required."""
    return Variant(
        name,
        Durability.SYNCED,
        partial(open_sender, dialect=dialect),
        partial(open_receiver, dialect=dialect),
        partial(subscribe, dialect=dialect),
        partial(unsubscribe, dialect=dialect),
        part=part,
        selecting=Selecting(
            no_preparation,
            partial(selected_sender, dialect=dialect),
            partial(selected_receiver, dialect=dialect),
            partial(clear_selectors, dialect=dialect),
        ),
    )
