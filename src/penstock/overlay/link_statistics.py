"""The counts of a link's queue (penstock.overlay.link_queue).

They stand in a module of their own because a compiled module holds no msgspec structs.
"""

from __future__ import annotations

import msgspec


class LinkStatistics(msgspec.Struct, frozen=True):
    """What a queue has seen since it was made; ``high_water_bytes`` is the most that waited."""

    queued_bytes: int
    queued_messages: int
    high_water_bytes: int
    sent_bytes: int
    sent_messages: int
    dropped_messages: int
    dropped_bytes: int
    flushed_messages: int
