"""Tables from message types to methods: the one way in which this service dispatches.

Each part of a broker has a table of the messages that it handles (``handlers``).  The broker joins
the tables of its parts; a message type belongs to one part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName
from penstock.core.message import Message

Handler: TypeAlias = Callable[[LinkName, Any, Instant, list[Effect]], None]
"""Handles a message from a link or a session at an instant, and appends its effects to a list."""

Handlers: TypeAlias = Mapping[type[Message], Handler]


def joined(*tables: Handlers) -> dict[type[Message], Handler]:
    """One table of several; a message type in two of them is a mistake in the program."""
    handlers: dict[type[Message], Handler] = {}
    for table in tables:
        for kind, handler in table.items():
            if kind in handlers:
                raise ValueError(f"{kind.__name__} has two handlers")
            handlers[kind] = handler
    return handlers
