"""The links inside a broker: its edge is a child of its own relays like any neighbour is."""

from __future__ import annotations

from typing import Final

from penstock.core.machine import LinkName

LOCAL_EDGE: Final[LinkName] = "@edge"
"""What a relay calls the edge of its own broker."""

LOCAL_RELAY: Final[LinkName] = "@relay"
"""What an edge calls the relays of its own broker."""


def stays_inside(link: LinkName) -> bool:
    """Whether a message on this link never leaves the broker."""
    return link[0] == "@"
