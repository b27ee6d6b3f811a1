"""The blocking classes that are made from asyncio classes, by name.

Each is made when it is first asked for, so that a program which uses no queue imports none.
``classes.pyi`` declares them; ``python -m penstock.client.blocking.stubs`` writes it anew.
"""

from __future__ import annotations

from typing import Any, Final

# Registers the base of everything that reads.
import penstock.client.blocking.reading  # noqa: F401
from penstock.client.blocking.mirrored import MIRRORED, asyncio_class
from penstock.client.blocking.proxy import blocking_class, proxy_of

BASES: Final = ("ClientMethods", "GossipPeerMethods")
"""Made only to be inherited by classes that are written by hand, which own a thread."""


def __getattr__(name: str) -> Any:
    """Make a class when it is first asked for."""
    if name not in MIRRORED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kind = asyncio_class(name)
    made: Any = blocking_class(kind) if name in BASES else proxy_of(kind)
    globals()[name] = made
    return made
