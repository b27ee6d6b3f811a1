"""The links inside a broker: its edge is a child of its own relays like any neighbour is.

A broker also publishes about itself, on a session of its own, to a stream that is marked as such.
"""

from __future__ import annotations

from typing import Final

from penstock.core.machine import OWN_SESSION as OWN_SESSION
from penstock.core.machine import LinkName

LOCAL_EDGE: Final[LinkName] = "@edge"
"""What a relay calls the edge of its own broker."""

LOCAL_RELAY: Final[LinkName] = "@relay"
"""What an edge calls the relays of its own broker."""


LOCAL_STAGING: Final[LinkName] = "@staging"
"""What a pubend calls the staging of its own broker, which publishes like a client."""


def is_own_stream(pubend: str) -> bool:
    """Whether a stream is the broker's own (``telemetry@pb``): no client may publish to it."""
    return "@" in pubend


def stays_inside(link: LinkName) -> bool:
    """Whether a message on this link never leaves the broker."""
    return link[0] == "@"
