"""Runs a test's coroutine in virtual time, from its first line to its last."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from penstock.testing.virtual_time import LIMIT_S
from penstock.testing.world import join_world

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T], *, limit_s: float = LIMIT_S) -> T:
    """``asyncio.run`` in virtual time, on a loop of asyncio's own whatever the policy is.

    Inside of it brokers work as in any other loop; what is outside of their blocks takes no real
    time either.
    """

    async def main() -> T:
        world = join_world(virtual_time=True, limit_s=limit_s)
        try:
            return await coroutine
        finally:
            world.leave()

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(main())
