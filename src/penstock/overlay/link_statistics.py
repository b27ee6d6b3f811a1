"""The counts of a link's queue (penstock.overlay.link_queue).

They have a module of their own because a compiled module cannot contain msgspec structs.
"""

from __future__ import annotations

import msgspec


class LinkStatistics(msgspec.Struct, frozen=True):
    """Counts since the queue's creation; ``high_water_bytes`` is the largest queue so far."""

    queued_bytes: int
    queued_messages: int
    high_water_bytes: int
    sent_bytes: int
    sent_messages: int
    dropped_messages: int
    dropped_bytes: int
    flushed_messages: int
