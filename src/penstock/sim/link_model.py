"""The parameters of a modelled link (penstock.sim.link).

They have a module of their own because a compiled module holds no msgspec structs.
"""

from __future__ import annotations

import msgspec

from penstock.core.clock import Duration
from penstock.overlay.drop_tail import LIMIT_MESSAGES


class LinkModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of a link, the same in both directions."""

    bandwidth_bytes_per_s: int = 0
    """0 means unlimited."""
    latency_ns: Duration = 1_000_000
    jitter_ns: Duration = 0
    queue_bytes: int = 5_000_000
    """Size of Gryphon's output queues (Section 5)."""
    loss: float = 0.0
    fair: bool = False
    """Whether pubends take turns on the link."""
    window_bytes: int = 0
    """Unacknowledged bytes that the link's own protocol accepts before messages wait in the
    overlay's buffer; see ``SimLink.buffered_bytes``."""
    best_effort_queue_messages: int = LIMIT_MESSAGES
    best_effort_bytes: int = 0
    """Size of a best-effort message on the wire; 0 means its encoded size."""
