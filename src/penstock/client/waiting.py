"""Waits with a deadline; the error describes the operation that did not complete."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from types import TracebackType

from penstock.client.errors import DeadlineExceeded


class deadline:  # noqa: N801 - it is used like a function, as asyncio.timeout is
    """Raises ``DeadlineExceeded`` with the description if the block takes longer.

    ``math.inf`` waits for ever.
    """

    __slots__ = ("_accepted", "_deadline_s", "_describe", "_scope")

    def __init__(
        self, deadline_s: float, describe: Callable[[], str], *, accepted: bool = False
    ) -> None:
        """``accepted`` is copied to the error: whether the operation continues."""
        self._deadline_s = deadline_s
        self._describe = describe
        self._accepted = accepted
        self._scope = None if deadline_s == math.inf else asyncio.timeout(deadline_s)

    async def __aenter__(self) -> None:
        """Start the time."""
        if self._scope is not None:
            await self._scope.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the time; raises ``DeadlineExceeded`` if it has passed."""
        if self._scope is None:
            return
        try:
            await self._scope.__aexit__(kind, error, trace)
        except TimeoutError:
            waited = f"after {self._deadline_s:g} s: {self._describe()}"
            raise DeadlineExceeded(waited, accepted=self._accepted) from None
