"""How what the application holds (a message, a batch) reaches the event loop of its client.

In the asyncio client both live in one thread and a call is a call.  The blocking client replaces
the caller by its ``LoopThread``: messages are then acknowledged from the application's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol


class Caller(Protocol):
    """Calls functions in the event loop's thread."""

    def post(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call it soon, without waiting for it."""

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call it and wait for its result."""


class DirectCaller:
    """For an application that lives in the event loop's thread."""

    def post(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call it now."""
        function(*arguments)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call it now."""
        return function(*arguments)


DIRECT: Final = DirectCaller()
