"""The network world's broker on a disk in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from penstock.core.clock import MILLISECOND
from penstock.services.queues.messages import ListQueues
from penstock.sim.disk import DiskModel, SimDisk
from penstock.store.interface import StoreError
from penstock.testing.broker import broker_config
from penstock.testing.server import InMemoryServer
from penstock.testing.world import World, join_world

CONFIG = broker_config("a", ["orders"], 1, {})


@asynccontextmanager
async def world() -> AsyncIterator[tuple[World, SimDisk]]:
    made = join_world(virtual_time=True, limit_s=600)
    made.network.add_host("a.test")
    try:
        yield made, SimDisk(DiskModel(), made)
    finally:
        made.leave()


async def test_it_is_durable_before_it_listens() -> None:
    async with world() as (made, disk):
        server = InMemoryServer(CONFIG, made.network, disk)
        await server.start()
        assert disk.store.load_state()["net/incarnation"]
        # The incarnation, and then the beginnings of the streams.
        assert made.now >= server.status().incarnation + MILLISECOND
        assert str(server.address) == "a.test:7400"
        await server.stop()


async def test_each_run_is_a_later_incarnation() -> None:
    async with world() as (made, disk):
        incarnations = []
        for _ in range(3):
            server = InMemoryServer(CONFIG, made.network, disk)
            await server.start()
            incarnations.append(server.status().incarnation)
            await server.crash(Random(0))
        assert incarnations == sorted(set(incarnations))


async def test_questions_are_answered_without_a_session() -> None:
    async with world() as (made, disk):
        server = InMemoryServer(CONFIG, made.network, disk)
        await server.start()
        assert b'"orders"' in server.ask(ListQueues("orders", request=1)).document
        assert server.status().sessions == 0
        await server.stop()


async def test_a_crashed_server_orders_nothing_more() -> None:
    async with world() as (made, disk):
        server = InMemoryServer(CONFIG, made.network, disk)
        await server.start()
        await server.crash(Random(0))
        before = {name: disk.store.bounds(name) for name in disk.store.log_names()}
        await asyncio.sleep(60)
        assert {name: disk.store.bounds(name) for name in disk.store.log_names()} == before
        assert disk.store.unsynced_orders == 0


async def test_a_disk_that_refuses_keeps_the_server_from_starting() -> None:
    async with world() as (made, disk):
        disk.store.full = True
        with pytest.raises(StoreError, match="full"):
            await InMemoryServer(CONFIG, made.network, disk).start()


async def test_a_link_that_does_not_exist_cannot_be_controlled() -> None:
    async with world() as (made, disk):
        server = InMemoryServer(CONFIG, made.network, disk)
        await server.start()
        assert server.control_link("b", 0, cut=True).startswith("broker 'a' has no link 'b'")
        await server.stop()
