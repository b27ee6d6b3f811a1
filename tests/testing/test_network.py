"""Hosts in memory, and the machine's own network beside them."""

from __future__ import annotations

import asyncio

import pytest

from penstock.testing.errors import BrokerMisused
from penstock.testing.network import PORT, MemoryNetwork, dialling_as


class Ear(asyncio.BufferedProtocol):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.heard = b""
        self.lost: Exception | None = None
        self.transport: asyncio.Transport
        self._buffer = bytearray(64)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.heard += self._buffer[:nbytes]

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = exc


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def listening(network: MemoryNetwork, host: str) -> list[Ear]:
    accepted: list[Ear] = []

    def accept() -> Ear:
        accepted.append(Ear())
        return accepted[-1]

    network.add_host(host)
    await network.listen(host, accept).start_serving()
    return accepted


async def test_a_host_accepts_while_it_serves() -> None:
    network = MemoryNetwork(0.0)
    network.add_host("a.test")
    with pytest.raises(ConnectionRefusedError):
        await network.dial(Ear, "a.test", PORT)
    listener = network.listen("a.test", Ear)
    with pytest.raises(ConnectionRefusedError):
        await network.dial(Ear, "a.test", PORT)
    await listener.start_serving()
    await network.dial(Ear, "a.test", PORT)
    with pytest.raises(ConnectionRefusedError):
        await network.dial(Ear, "a.test", PORT + 1)
    listener.close()
    with pytest.raises(ConnectionRefusedError):
        await network.dial(Ear, "a.test", PORT)


async def test_a_name_is_used_once() -> None:
    network = MemoryNetwork(0.0)
    network.add_host("a.test")
    with pytest.raises(BrokerMisused, match="'a' runs on this event loop already"):
        network.add_host("a.test")
    network.remove_host("a.test")
    network.add_host("a.test")


async def test_other_addresses_are_dialled_as_usual() -> None:
    server = await asyncio.get_running_loop().create_server(Ear, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        ear = await MemoryNetwork(0.0).dial(Ear, "127.0.0.1", port)
        assert ear.transport.get_extra_info("peername") == ("127.0.0.1", port)
        ear.transport.abort()


async def test_dropping_ends_the_connections_of_one_host() -> None:
    network = MemoryNetwork(0.0)
    at_a, at_b = await listening(network, "a.test"), await listening(network, "b.test")
    to_a = await network.dial(Ear, "a.test", PORT)
    to_b = await network.dial(Ear, "b.test", PORT)
    assert network.drop("a.test", "cut") == 1
    assert network.drop("a.test", "cut") == 0
    to_b.transport.write(b"hello")
    await settled()
    assert isinstance(to_a.lost, ConnectionResetError)
    assert isinstance(at_a[0].lost, ConnectionResetError)
    assert at_b[0].heard == b"hello"


async def test_a_stalled_host_neither_hears_nor_is_heard() -> None:
    network = MemoryNetwork(0.0)
    at_a = await listening(network, "a.test")
    to_a = await network.dial(Ear, "a.test", PORT)
    network.stall("a.test")
    late = await network.dial(Ear, "a.test", PORT)
    to_a.transport.write(b"one")
    late.transport.write(b"two")
    at_a[0].transport.write(b"three")
    await settled()
    assert at_a[0].heard == at_a[1].heard == to_a.heard == b""
    network.resume("a.test")
    await settled()
    assert (at_a[0].heard, at_a[1].heard, to_a.heard) == (b"one", b"two", b"three")


async def test_what_a_host_dials_is_dropped_and_stalled_with_it() -> None:
    network = MemoryNetwork(0.0)
    await listening(network, "a.test")
    await listening(network, "b.test")

    async def dial() -> Ear:
        dialling_as.set("a.test")
        return await network.dial(Ear, "b.test", PORT)

    dialled = await asyncio.create_task(dial())
    assert network.drop("a.test", "cut") == 1
    await settled()
    assert dialled.lost is not None
