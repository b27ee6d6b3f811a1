"""The world of an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from penstock.net.loop_world import P, enter_world, leave_world, token_hex, world_here
from penstock.net.tcp.transport import connect
from penstock.net.wall_clock import WallClock
from penstock.overlay.messages import Hello


class Elsewhere:
    """A world whose clock stands still and whose addresses do not answer."""

    def now_ns(self) -> int:
        return 42

    def token_hex(self, count_bytes: int) -> str:
        return "ab" * count_bytes

    async def dial(self, make: Callable[[], P], host: str, port: int) -> P:
        raise ConnectionRefusedError(f"nobody is at {host}:{port} here")


def test_outside_of_a_loop_the_world_is_the_ordinary_one() -> None:
    assert world_here() is None


async def test_clocks_and_connections_follow_the_loop() -> None:
    loop = asyncio.get_running_loop()
    world = Elsewhere()
    before = WallClock()
    enter_world(loop, world)
    try:
        assert world_here() is world
        assert WallClock().now() == 42
        assert WallClock(not_before=50).now() == 50
        assert WallClock(not_before=50).ahead_ns == 8
        assert before.now() > 50
        assert token_hex(4) == "abababab"
        with pytest.raises(ConnectionRefusedError, match="nobody is at a:1 here"):
            await connect("a", 1, Hello("client", "c", 0, "test"), None)  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match="already"):
            enter_world(loop, world)
    finally:
        leave_world(loop)
    assert world_here() is None
    assert WallClock().now() > 50
    assert token_hex(8) != token_hex(8)
