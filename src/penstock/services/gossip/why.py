"""Why a gossip sender publishes no faster: the numbers that decide it, and a sentence.

The law gives the reason as a code (``laws.law.Cause``); the sentence for people is made here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.core.clock import Instant
from penstock.services.gossip.laws.law import Cause
from penstock.services.gossip.messages import Why

if TYPE_CHECKING:
    from penstock.services.gossip.peer import Peer

SENTENCES: Final[dict[Cause, str]] = {
    Cause.NOT_LIMITED: "nothing: this peer does not adapt its rate",
    Cause.RATE_NOT_USED: "nothing: the application uses less than is allowed",
    Cause.AGE_BELOW_MARKS: "congestion: a buffer of {buffer} events drops them at age {age:.1f}, "
    "below the low mark {low_mark:.1f}",
    Cause.AGE_BETWEEN_MARKS: "the rate is held: a buffer of {buffer} events drops them at age "
    "{age:.1f}, between the marks",
    Cause.AGE_ABOVE_MARKS: "the rate is rising: events grow old enough everywhere",
    Cause.REACHES_EVERYBODY: "the rate is rising: each gossip reaches every member, and no buffer "
    "drops anything",
    Cause.TOO_FEW_COPIES: "congestion: {copies:.2f} copies arrive for each event, and {target:.2f} "
    "are needed for {receivers:.1%} receivers",
    Cause.ENOUGH_COPIES: "the rate is held: {copies:.2f} copies arrive for each event, as are "
    "needed",
    Cause.SPARE_COPIES: "the rate is rising: {copies:.2f} copies arrive for each event, "
    "{target:.2f} suffice",
}


def why(peer: Peer, token: int, *, now: Instant) -> Why:
    """Everything about this sender's rate at present."""
    adaptation, parameters = peer.adaptation, peer.parameters
    steering = adaptation.steering
    return Why(
        group=parameters.group,
        token=token,
        peer=peer.address,
        law=parameters.law,
        cause=sentence(peer),
        allowed_rate_msgs_per_s=adaptation.rate_msgs_per_s,
        published_rate_msgs_per_s=adaptation.used_rate_msgs_per_s,
        waiting=len(peer.waiting),
        tokens=peer.bucket.tokens(now),
        average_tokens=adaptation.average_tokens,
        bucket_tokens=parameters.adaptation.bucket_tokens,
        average_age=adaptation.average_age,
        low_age_mark=steering.low_age_mark,
        high_age_mark=steering.high_age_mark,
        minimum_buffer=adaptation.minimum_buffer_events,
        own_buffer=peer.buffer.capacity,
        copies_for_each_event=adaptation.copies,
        copies_target=steering.copies_target,
        receipt=steering.receipt,
        group_size=adaptation.group_size.size,
        members_known=len(peer.view),
    )


def sentence(peer: Peer) -> str:
    """What decides this sender's rate at present, for people."""
    adaptation, parameters = peer.adaptation, peer.parameters.adaptation
    steering = adaptation.steering
    return SENTENCES[adaptation.cause].format(
        buffer=adaptation.minimum_buffer_events,
        age=adaptation.average_age,
        low_mark=steering.low_age_mark,
        copies=adaptation.copies,
        target=steering.copies_target,
        receivers=parameters.receipt_target,
    )
