"""Names of the links inside a broker, and of the broker's own session and streams.

The edge of a broker is a child of the broker's own relays, like any neighbour; ``loopback`` carries
what they send to each other.  A broker also publishes about itself, on a session of its own, to a
stream whose name marks it as such.
"""

from __future__ import annotations

from typing import Final

from penstock.core.machine import OWN_SESSION as OWN_SESSION
from penstock.core.machine import LinkName

LOCAL_EDGE: Final[LinkName] = "@edge"
"""The link from a relay to the edge of its own broker."""

LOCAL_RELAY: Final[LinkName] = "@relay"
"""The link from an edge to the relays of its own broker."""

LOCAL_STAGING: Final[LinkName] = "@staging"
"""The session on which the staging of a broker publishes to the pubends of that broker."""


def is_own_stream(pubend: str) -> bool:
    """Whether a stream is the broker's own (``telemetry@pb``): no client may publish to it."""
    return "@" in pubend
