"""The subscriptions of a run: created before it, deleted after it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import uvloop

from benchmarks.harness.server import Server
from benchmarks.peers.peer import Arrange, Variant

PATIENCE_S: Final = 90.0
"""A thousand queues take some brokers half a minute on a busy machine."""


@contextmanager
def subscriptions(variant: Variant, server: Server, names: Sequence[str]) -> Iterator[None]:
    """Durable subscriptions of these names, if the variant keeps messages."""
    uvloop.run(_within(variant.prepare, server, names, "made"))
    try:
        yield
    finally:
        uvloop.run(_within(variant.clear, server, names, "taken away"))


async def _within(arrange: Arrange, server: Server, names: Sequence[str], what: str) -> None:
    try:
        await asyncio.wait_for(arrange(server, names), PATIENCE_S)
    except TimeoutError:
        raise RuntimeError(f"subscriptions were not {what} within {PATIENCE_S:g} s") from None
