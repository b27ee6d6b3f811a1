"""How a round's gossip is cut into datagrams.

1. Every datagram is the same message with a part of the events; the first has the header.
2. The size of an event is computed from its lengths, without encoding it; the bound is exact or a
   few bytes too high, so a datagram is never larger than allowed.
3. Events go in the order in which they are held.
"""

from __future__ import annotations

from typing import Final

from penstock.content.codec.envelope import ENVELOPE
from penstock.content.codec.size import encoded_size, value_size
from penstock.content.rows.layout import ALIGNMENT
from penstock.services.gossip.messages import EVENT_ID_BYTES, Event, Gossip

EVENT_FRAME_BYTES: Final = 1 + (2 + EVENT_ID_BYTES) + 5 + 1 + 1
"""The array's head, the identifier, the payload's head, an empty map, and the age."""

FRAME_BYTES: Final = ENVELOPE.size + ALIGNMENT + 64 + 64
"""The envelope, its padding, the group's name, and the heads of the fields."""


def event_bytes(event: Event) -> int:
    """At most how much room an event and its age take in a datagram."""
    size = EVENT_FRAME_BYTES + len(event.payload)
    if event.attributes:
        size += value_size(event.attributes)
    return size


def packed(first: Gossip, events: tuple[Event, ...], ages: bytes, limit: int) -> list[Gossip]:
    """The datagrams that carry these events; ``first`` is an empty one with the header."""
    room = limit - encoded_size(first) - 16
    sizes = [event_bytes(event) for event in events]
    if sum(sizes) <= room:
        return [_part(first, True, events, ages)]
    rest = limit - FRAME_BYTES - len(first.sender.encode())
    parts: list[Gossip] = []
    begin = used = 0
    for index, size in enumerate(sizes):
        if used + size > room:
            parts.append(_part(first, not parts, events[begin:index], ages[begin:index]))
            begin, used, room = index, 0, rest
        used += size
    parts.append(_part(first, not parts, events[begin:], ages[begin:]))
    return parts


def _part(first: Gossip, header: bool, events: tuple[Event, ...], ages: bytes) -> Gossip:
    return Gossip(first.group, first.sender, first.header if header else None, events, ages)
