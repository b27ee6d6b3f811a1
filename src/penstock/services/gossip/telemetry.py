"""What a gossip peer measures of itself, round by round.

The node is the peer's address and the subject is its group, so the records of one group lie
together.  Counts start with the peer; the record of the allowed rate says what decided it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from penstock.core.clock import Instant
from penstock.core.trace import TraceRecord
from penstock.services.gossip.why import sentence

if TYPE_CHECKING:
    from penstock.services.gossip.peer import Peer

ALLOWED: Final = "allowed_msgs_per_s"
DROPPED: Final = "dropped_events"
DROPPED_AGES: Final = "dropped_event_ages"
GROUP_SIZE: Final = "group_size"
ROUNDS: Final = "gossip_rounds"


def peer_records(peer: Peer, now: Instant) -> Iterator[TraceRecord]:
    """One record for each quantity."""
    node, group, adaptation = peer.address, peer.parameters.group, peer.adaptation
    yield TraceRecord(now, node, group, ALLOWED, adaptation.rate_msgs_per_s, sentence(peer))
    for metric, value in (
        (ROUNDS, peer.buffer.round),
        ("published_messages", peer.published),
        ("publications_waiting", len(peer.waiting)),
        ("delivered_messages", peer.delivered),
        (DROPPED, peer.dropped),
        (DROPPED_AGES, peer.dropped_age_sum),
        ("buffer_events", peer.buffer.capacity),
        ("minimum_buffer_events", adaptation.minimum_buffer_events),
        ("average_drop_age", adaptation.average_age),
        ("average_tokens", adaptation.average_tokens),
        ("copies_for_each_event", adaptation.copies),
        ("receipt_share", adaptation.steering.receipt),
        (GROUP_SIZE, adaptation.group_size.size),
        ("members_known", len(peer.view)),
        ("refused_datagrams", peer.gate.refused_datagrams),
        ("refused_events", peer.gate.refused_events),
    ):
        yield TraceRecord(now, node, group, metric, float(value))
