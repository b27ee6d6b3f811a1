"""Identifiers are remembered up to a bound, the longest known forgotten first."""

from __future__ import annotations

from penstock.services.gossip.events.known_events import KnownEvents
from penstock.services.gossip.messages import event_id


def test_the_longest_known_is_forgotten_first() -> None:
    known = KnownEvents(3)
    for sequence in range(5):
        known.add([event_id(1, sequence)])
    assert len(known) == len(known.ids) == 3
    assert event_id(1, 1) not in known.ids
    assert event_id(1, 2) in known.ids
