"""A socket that is emptied at each wake-up."""

from __future__ import annotations

import asyncio
from socket import AF_INET, SOCK_DGRAM, socket

from penstock.net.udp.drained_socket import (
    DRAINED_AT_ONCE,
    DrainedSocket,
    SocketAddress,
    bound_socket,
    connected_socket,
)

PATIENCE_S = 60


class Owner:
    """Notes what each wake-up brought."""

    def __init__(self) -> None:
        self.wake_ups: asyncio.Queue[list[bytes]] = asyncio.Queue()
        self.senders: list[SocketAddress] = []
        self._now: list[bytes] = []

    def datagram(self, data: memoryview, address: SocketAddress) -> None:
        self._now.append(bytes(data))
        self.senders.append(address)

    def drained(self) -> None:
        self.wake_ups.put_nowait(self._now)
        self._now = []

    async def next(self) -> list[bytes]:
        return await asyncio.wait_for(self.wake_ups.get(), PATIENCE_S)


async def test_what_waits_comes_together_and_no_more_than_the_bound() -> None:
    owner, bound = Owner(), await bound_socket("127.0.0.1", 0)
    with socket(AF_INET, SOCK_DGRAM) as sender:
        sender.bind(("127.0.0.1", 0))
        for number in range(DRAINED_AT_ONCE + 3):
            sender.sendto(b"%d" % number, bound.getsockname())
        drained = DrainedSocket(bound, owner.datagram, owner.drained)
        first, second = await owner.next(), await owner.next()
        assert len(first) == DRAINED_AT_ONCE
        assert first + second == [b"%d" % number for number in range(DRAINED_AT_ONCE + 3)]
        assert set(owner.senders) == {sender.getsockname()}
    drained.close()
    drained.close()
    assert drained.is_closed


async def test_a_datagram_that_finds_nobody_is_counted_and_nothing_breaks() -> None:
    gone = await bound_socket("127.0.0.1", 0)
    port = gone.getsockname()[1]
    gone.close()
    owner = Owner()
    drained = DrainedSocket(
        await connected_socket("127.0.0.1", port), owner.datagram, owner.drained
    )
    drained.send(b"anybody?")
    while not drained.unsent_datagrams and owner.wake_ups.empty():
        # The refusal is told at the next call, which is the sender's or the reader's.
        drained.send(b"anybody?")
        await asyncio.sleep(0)
    assert not owner.senders
    drained.close()
