"""The world of an event loop, shared by those who use it."""

from __future__ import annotations

import asyncio
import time

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.net.loop_world import world_here
from penstock.net.wall_clock import WallClock
from penstock.sim.world import EPOCH
from penstock.testing.errors import BrokerMisused
from penstock.testing.world import join_world


async def test_the_first_makes_it_and_the_last_ends_it() -> None:
    first = join_world(virtual_time=True, limit_s=60)
    second = join_world(virtual_time=True, limit_s=60)
    assert first is second is world_here()
    second.leave()
    assert world_here() is first
    first.leave()
    assert world_here() is None


async def test_clocks_that_are_made_in_it_are_its_own() -> None:
    world = join_world(virtual_time=True, limit_s=60)
    clock = WallClock()
    assert clock.now() == EPOCH
    await asyncio.sleep(1)
    assert clock.now() == world.now_ns() == EPOCH + SECOND
    assert clock.ahead_ns == 0
    world.leave()
    assert WallClock().now() > clock.now()


async def test_real_time_is_the_time_of_day() -> None:
    world = join_world(virtual_time=False, limit_s=60)
    before = time.time_ns()
    assert WallClock().now() >= before
    with pytest.raises(BrokerMisused, match="real time"):
        world.virtual  # noqa: B018
    with pytest.raises(BrokerMisused, match="the same virtual_time="):
        join_world(virtual_time=True, limit_s=60)
    world.leave()
    assert world_here() is None


async def test_a_disk_is_called_back_at_the_instant() -> None:
    world = join_world(virtual_time=True, limit_s=60)
    called: list[int] = []
    world.at(world.now + 5 * MILLISECOND, lambda: called.append(world.now))
    await asyncio.sleep(1)
    assert called == [EPOCH + 5 * MILLISECOND]
    world.leave()
