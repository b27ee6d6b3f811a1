from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.content.codec.stream import encode
from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import Buffer
from penstock.core.clock import SECOND
from penstock.core.machine import Priority
from penstock.net.tcp.connection import Connection
from penstock.net.tcp.outbox import Outbox
from penstock.net.wall_clock import WallClock
from penstock.overlay.link_queue import LinkQueue
from penstock.overlay.messages import Hello
from penstock.services.guaranteed.messages import Publish, Taken

CONTROL, DATA = Priority.CONTROL, Priority.DATA


def data(number: int, size: int = 1000) -> Publish:
    return Publish("p", number, Batch.from_rows([({}, bytes(size))]))


class Sender:
    """The near end of a connection, with an outbox in front of it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        queue: LinkQueue[list[Buffer]] = LinkQueue(data_limit_bytes=10_000_000)
        self.outbox = Outbox(WallClock(), queue)
        self.outbox.attach(connection)
        connection.handler = self

    def on_open(self, connection: Connection) -> None:
        """Done before."""

    def on_messages(self, connection: Connection, messages: list[Any]) -> None:
        """Nobody answers."""

    def on_writable(self, connection: Connection) -> None:
        self.outbox.pump()

    def on_closed(self, connection: Connection, reason: str) -> None:
        self.outbox.detach()


@pytest.fixture
async def ends(peer_class: Any, dial_client: Any) -> AsyncIterator[tuple[Sender, Any]]:
    """An outbox, and the peer at the other end of its connection."""
    far = peer_class()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(Hello("broker", "b", 1, "test"), far), "127.0.0.1", 0
    )
    near = await dial_client(*server.sockets[0].getsockname())
    await far.until(lambda: far.opened)
    yield Sender(near.connection), far
    server.close()
    far.connection.abort("the test is over")
    await far.connection.wait_closed()


async def test_control_overtakes_the_data_of_the_same_turn(ends: tuple[Sender, Any]) -> None:
    sender, far = ends
    for number in range(50):
        sender.outbox.put(data(number), DATA)
    sender.outbox.put(Taken("urgent", 1), CONTROL)

    await far.until(lambda: len(far.messages) == 51)
    assert far.messages[0] == Taken("urgent", 1)
    assert [each.first_sequence for each in far.messages[1:]] == list(range(50))


async def test_control_overtakes_data_that_waits_for_a_slow_peer(ends: tuple[Sender, Any]) -> None:
    sender, far = ends
    far.connection.pause_reading()
    for number in range(90):
        sender.outbox.put(data(number, 100_000), DATA)
        sender.outbox.pump()
    waiting = sender.outbox.statistics().queued_messages
    assert waiting > 10

    sender.outbox.put(Taken("urgent", 1), CONTROL)
    far.connection.resume_reading()

    await far.until(lambda: len(far.messages) == 91)
    place = far.messages.index(Taken("urgent", 1))
    assert place <= 90 - waiting + 1


async def test_data_beyond_the_bound_is_dropped_and_counted(ends: tuple[Sender, Any]) -> None:
    sender, far = ends
    far.connection.pause_reading()
    taken = [sender.outbox.put(data(number, 1_000_000), DATA) for number in range(20)]

    assert taken == [True] * 9 + [False] * 11
    counts = sender.outbox.statistics()
    assert counts.dropped_messages == 11
    assert counts.high_water_bytes <= 10_000_000


async def test_a_shaped_link_delivers_everything_and_counts_it(ends: tuple[Sender, Any]) -> None:
    sender, far = ends
    sender.outbox.set_rate(1_000_000)
    for number in range(50):
        sender.outbox.put(data(number, 2000), DATA)

    await far.until(lambda: len(far.messages) == 50)

    assert [each.first_sequence for each in far.messages] == list(range(50))
    assert sender.outbox.statistics().sent_bytes == 50 * sum(map(len, encode(data(0, 2000))))


async def test_lifting_a_limit_wakes_the_link(ends: tuple[Sender, Any]) -> None:
    sender, far = ends
    sender.outbox.set_rate(1)
    for number in range(20):
        sender.outbox.put(data(number), DATA)
    await far.until(lambda: len(far.messages) == 1)
    assert sender.outbox.statistics().queued_messages == 19

    sender.outbox.set_rate(0)

    await far.until(lambda: len(far.messages) == 20)
    assert sender.outbox.rate_bytes_per_s == 0


async def test_control_passes_a_link_that_data_has_filled(ends: tuple[Sender, Any]) -> None:
    sender, far = ends
    sender.outbox.set_rate(10)
    sender.outbox.put(data(0), DATA)
    sender.outbox.put(data(1), DATA)
    await far.until(lambda: len(far.messages) == 1)

    sender.outbox.put(Taken("urgent", 1), CONTROL)

    await far.heard(Taken)
    assert sender.outbox.statistics().queued_messages == 1


async def test_one_turn_sends_so_much_and_the_next_goes_on(ends: tuple[Sender, Any]) -> None:
    sender, far = ends
    for number in range(10):
        sender.outbox.put(data(number, 100_000), DATA)
    sender.outbox.pump(1)
    assert sender.outbox.statistics().queued_messages == 9

    await far.until(lambda: len(far.messages) == 10)
    assert sender.outbox.statistics().queued_messages == 0


async def test_what_waits_is_gone_with_the_connection(ends: tuple[Sender, Any]) -> None:
    sender, far = ends
    sender.outbox.set_rate(1)
    for number in range(20):
        sender.outbox.put(data(number), DATA)
    await far.until(lambda: len(far.messages) == 1)

    sender.outbox.detach()

    counts = sender.outbox.statistics()
    assert (counts.queued_messages, counts.queued_bytes) == (0, 0)
    assert counts.flushed_messages == 19
    assert counts.dropped_messages == 0


async def test_the_pace_follows_the_clock(ends: tuple[Sender, Any]) -> None:
    """What was sent within a time is counted against it, however long the test took."""
    sender, far = ends
    clock = WallClock()
    rate = 2_000_000
    sender.outbox.set_rate(rate)
    start = clock.now()
    for number in range(100):
        sender.outbox.put(data(number, 10_000), DATA)

    await far.until(lambda: len(far.messages) >= 50)

    allowed = rate * ((clock.now() - start) / SECOND + 0.01) + 20_000
    assert sender.outbox.statistics().sent_bytes <= allowed
