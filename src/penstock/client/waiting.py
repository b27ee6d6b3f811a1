"""Waiting with a deadline, and saying what was waited for."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from penstock.client.errors import DeadlineExceeded


@asynccontextmanager
async def deadline(
    deadline_s: float, describe: Callable[[], str], *, accepted: bool = False
) -> AsyncIterator[None]:
    """Raise ``DeadlineExceeded`` with the description if the block takes longer.

    ``math.inf`` waits for ever.
    """
    try:
        async with asyncio.timeout(None if deadline_s == math.inf else deadline_s) as scope:
            yield
    except TimeoutError:
        if not scope.expired():
            raise
        waited = f"after {deadline_s:g} s: {describe()}"
        raise DeadlineExceeded(waited, accepted=accepted) from None
