"""``async with`` for everything that is closed: the client, and whatever it makes."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Self

from penstock.client.errors import InvalidAttribute, PenstockError

logger = logging.getLogger(__name__)


class Closable:
    """Has ``close``, which may be called again; a block closes it at its end."""

    async def __aenter__(self) -> Self:
        """Open it, if it has to be opened."""
        await self._enter()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it; an exception that is under way is not replaced by one of the closing."""
        try:
            await self.close()
        except (PenstockError, InvalidAttribute) as problem:
            if kind is None:
                raise
            logger.error("closing a %s: %s", type(self).__name__.lower(), problem)

    async def close(self, *, deadline_s: float | None = None) -> None:
        """End it; closing again does nothing."""
        raise NotImplementedError

    async def _enter(self) -> None:
        """What a block begins with; nothing if it is open from the start."""
