"""The parameters of a modelled link (penstock.sim.link).

They stand in a module of their own because a compiled module holds no msgspec structs.
"""

from __future__ import annotations

import msgspec

from penstock.core.clock import Duration
from penstock.overlay.drop_tail import LIMIT_MESSAGES


class LinkModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a link behaves, in both directions alike."""

    bandwidth_bytes_per_s: int = 0
    """0 is unlimited."""
    latency_ns: Duration = 1_000_000
    jitter_ns: Duration = 0
    queue_bytes: int = 5_000_000
    """Gryphon's output queues (Section 5)."""
    loss: float = 0.0
    fair: bool = False
    """Whether pubends take turns."""
    window_bytes: int = 0
    """What the link's own protocol takes, unacknowledged, before anything waits in the overlay's
    buffer; see ``SimLink.buffered_bytes``."""
    best_effort_queue_messages: int = LIMIT_MESSAGES
    best_effort_bytes: int = 0
    """What a best-effort message takes on the wire; 0 means its encoded size."""
