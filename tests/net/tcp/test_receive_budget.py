from __future__ import annotations

from typing import Any

from penstock.content.codec.envelope import ENVELOPE, MAGIC, WIRE_VERSION
from penstock.net.broker.config import Limits
from penstock.net.tcp.receive_budget import ReceiveBudget

MEGABYTE = 1 << 20


class Connection:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def close(self, reason: str) -> None:
        self.reasons.append(reason)


def test_the_frame_that_was_begun_first_makes_room() -> None:
    budget = ReceiveBudget(10 * MEGABYTE)
    slow, honest, large = Connection(), Connection(), Connection()
    budget.changed(slow, 1 * MEGABYTE)
    budget.changed(honest, 2 * MEGABYTE)
    budget.changed(slow, 4 * MEGABYTE)

    budget.changed(large, 8 * MEGABYTE)

    assert "receive_buffers_bytes" in slow.reasons[0]
    assert not honest.reasons
    assert not large.reasons
    assert budget.held_bytes == 10 * MEGABYTE


def test_whole_frames_free_their_room() -> None:
    budget = ReceiveBudget(10 * MEGABYTE)
    connections = [Connection() for _ in range(100)]
    for each in connections:
        budget.changed(each, 8 * MEGABYTE)
        budget.changed(each, 0)

    assert budget.held_bytes == 0
    assert not any(each.reasons for each in connections)


async def test_half_frames_end_and_others_are_served(brokers: Any) -> None:
    server = await brokers.start("b", limits=Limits(receive_buffers_bytes=4 * MEGABYTE))
    envelope = ENVELOPE.pack(MAGIC, WIRE_VERSION, 0, 0, 30 * MEGABYTE, 0)
    slow = [await brokers.client(server, f"slow{number}") for number in range(8)]
    for each in slow:
        each.connection.write([envelope, bytes(2 * MEGABYTE)], 24 + 2 * MEGABYTE)
    # The first of eight frames of 2 MB each is ended when more than 4 MB would be held.
    reason = await slow[0].closed()

    honest = await brokers.client(server)
    await honest.subscribe("s")
    await honest.publish("p", 0, [b"x" * MEGABYTE])
    assert await honest.delivered("s", 1) == [b"x" * MEGABYTE]
    assert "receive_buffers_bytes" in reason
