"""The world of an event loop: its clock, its network and its randomness.

By default these are the machine's clock, TCP and the system's randomness, and nothing is registered
here.  ``penstock.testing`` registers another world for a loop.  All Penstock code on that loop then
reads that world's clock (``WallClock``), dials through its network
(``net.tcp.transport.connect``) and takes tokens for unique names from it (``token_hex``).
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Final, Protocol, TypeVar
from weakref import WeakKeyDictionary

P = TypeVar("P", bound=asyncio.BaseProtocol)


class LoopWorld(Protocol):
    """Replaces the machine's clock, network and randomness."""

    def now_ns(self) -> int:
        """Nanoseconds since the Unix epoch; never goes backwards."""

    def token_hex(self, count_bytes: int) -> str:
        """A token that was not used before."""

    async def dial(self, make: Callable[[], P], host: str, port: int) -> P:
        """Connect a new protocol to an address; raises ``OSError`` as a socket would."""


_worlds: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, LoopWorld]] = WeakKeyDictionary()


def world_here() -> LoopWorld | None:
    """The world of the running loop; None if none is registered, and outside of a loop."""
    if not _worlds:
        return None
    try:
        return _worlds.get(asyncio.get_running_loop())
    except RuntimeError:
        return None


def token_hex(count_bytes: int) -> str:
    """A token for a unique name: random, unless the loop's world provides deterministic ones."""
    world = world_here()
    return secrets.token_hex(count_bytes) if world is None else world.token_hex(count_bytes)


def enter_world(loop: asyncio.AbstractEventLoop, world: LoopWorld) -> None:
    """Make everything that is created on this loop from now on use another world."""
    if loop in _worlds:
        raise RuntimeError("this event loop is in another world already; leave that one first")
    _worlds[loop] = world


def leave_world(loop: asyncio.AbstractEventLoop) -> None:
    """Return the loop to the machine's clock and network."""
    _worlds.pop(loop, None)
