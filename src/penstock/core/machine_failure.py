"""The error for a machine that raised.

A handler that raises has changed part of its state and returned none of its orders: later messages
of the machine may contradict earlier ones.  It is unknown which part of the state is wrong, so the
simulator and the network do the same: the broker stops at once, and restarts from its disk, which
holds everything that it promised (docs/decisions/0004-a-machine-that-raises.md).
"""

from __future__ import annotations

from penstock.core.datagrams import ReceivedTogether
from penstock.core.machine import Fact, LinkName, Received


class MachineFailed(RuntimeError):
    """A broker's machine raised while it handled a fact; ``__cause__`` is what it raised."""

    def __init__(self, broker: str, fact: Fact | None, error: Exception, sender: str = "") -> None:
        """``fact`` is None if no fact was being handled; ``sender`` describes its sender."""
        self.link = sender_of(fact)
        origin = sender or self.link
        super().__init__(
            f"broker {broker!r} failed while it handled {named(fact)}"
            f"{' from ' + origin if origin else ''}: {type(error).__name__}: {error}"
        )
        self.__cause__ = error


def named(fact: Fact | None) -> str:
    """The type of a fact, and of the message in it."""
    if fact is None:
        return "its timers"
    if isinstance(fact, Received):
        return f"Received({type(fact.message).__name__})"
    return type(fact).__name__


def sender_of(fact: Fact | None) -> LinkName:
    """The link or session that a fact came from; empty if it came from neither."""
    if isinstance(fact, Received | ReceivedTogether):
        return fact.link
    link = getattr(fact, "link", None) or getattr(fact, "session", None)
    return str(link) if link else ""
