"""The world of a test's event loop: virtual time and a network in memory.

The first broker on a loop makes it, further ones share it, and the last one that leaves ends it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from penstock.core.clock import Instant, in_seconds
from penstock.core.randomness import random_stream
from penstock.net.loop_world import enter_world, leave_world, world_here
from penstock.sim.world import EPOCH
from penstock.testing.errors import BrokerMisused
from penstock.testing.network import MemoryNetwork
from penstock.testing.virtual_time import VirtualTime

P = TypeVar("P", bound=asyncio.BaseProtocol)

LATENCY_S: Final = 0.0001
"""What a message takes from one end of a connection to the other: as in the simulator.  Without any
latency a program that sends and receives in a loop would stop virtual time."""


class World:
    """What one event loop runs in, and how many use it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, virtual: VirtualTime | None) -> None:
        """Made by ``join_world``."""
        self.loop = loop
        self.network = MemoryNetwork(LATENCY_S)
        self.users = 0
        self._names = random_stream("penstock.testing", "names")
        self._virtual = virtual

    @property
    def virtual(self) -> VirtualTime:
        """The loop's virtual time; raises ``BrokerMisused`` in real time."""
        if self._virtual is None:
            raise BrokerMisused(
                "this broker runs in real time, which cannot be advanced; use asyncio.sleep, or "
                "leave virtual_time=False away"
            )
        return self._virtual

    @property
    def is_virtual(self) -> bool:
        """Whether time jumps."""
        return self._virtual is not None

    def now_ns(self) -> Instant:
        """The present instant; virtual time begins where the simulator's does."""
        return time.time_ns() if self._virtual is None else EPOCH + self._virtual.now_ns

    def token_hex(self, count_bytes: int) -> str:
        """The same tokens in the same order in every run."""
        return self._names.randbytes(count_bytes).hex()

    async def dial(self, make: Callable[[], P], host: str, port: int) -> P:
        """Connect, in memory if a broker of this world has the address."""
        return await self.network.dial(make, host, port)

    # -- for modelled disks -----------------------------------------------------------------

    @property
    def now(self) -> Instant:
        """The same as a property, as ``SimDisk`` asks for it."""
        return self.now_ns()

    def at(self, instant: Instant, callback: Callable[..., None], *arguments: Any) -> None:
        """Call back at an instant."""
        delay_s = in_seconds(max(0, instant - self.now_ns()))
        self.loop.call_later(delay_s, callback, *arguments)

    def leave(self) -> None:
        """One user less; the last one ends it."""
        self.users -= 1
        if not self.users:
            leave_world(self.loop)
            if self._virtual is not None:
                self._virtual.remove()


def join_world(*, virtual_time: bool, limit_s: float) -> World:
    """The world of the running loop, made if there is none."""
    loop = asyncio.get_running_loop()
    world = world_here()
    if world is None:
        world = World(loop, VirtualTime(loop, limit_s) if virtual_time else None)
        enter_world(loop, world)
        if world.is_virtual:
            world.virtual.install()
    if not isinstance(world, World) or world.is_virtual != virtual_time:
        raise BrokerMisused(
            "this event loop has a broker with another kind of time; give all of them the same "
            "virtual_time="
        )
    world.users += 1
    return world
