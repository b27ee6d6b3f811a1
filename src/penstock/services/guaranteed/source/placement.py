"""Which pubend of a broker a publisher or a sink gets: the one it asks for, or always the same."""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from penstock.core.trace import is_own_stream


def open_to_clients(pubends: Iterable[str]) -> list[str]:
    """The pubends that clients may publish to, in order."""
    return sorted(name for name in pubends if not is_own_stream(name))


def placed(pubends: Iterable[str], name: str, wish: str) -> str:
    """The pubend for a publisher or sink of this name; empty if there is none."""
    open_names = open_to_clients(pubends)
    if wish:
        return wish if wish in open_names else ""
    return open_names[crc32(name.encode()) % len(open_names)] if open_names else ""
