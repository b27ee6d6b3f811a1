"""Why a gossip sender publishes no faster: the numbers that decide it, and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.clock import Instant
from penstock.services.gossip.messages import Why

if TYPE_CHECKING:
    from penstock.services.gossip.peer import Peer

HELD_BY_COPIES = 1.05
"""The rate is held while copies are no further above their target than the control's noise."""


def why(peer: Peer, token: int, *, now: Instant) -> Why:
    """Everything about this sender's rate at present."""
    adaptation, parameters = peer.adaptation, peer.parameters
    return Why(
        group=parameters.group,
        token=token,
        peer=peer.address,
        law=parameters.law,
        cause=cause(peer),
        allowed_rate_msgs_per_s=adaptation.rate_msgs_per_s,
        published_rate_msgs_per_s=adaptation.used_rate_msgs_per_s,
        waiting=len(peer.waiting),
        tokens=peer.bucket.tokens(now),
        average_tokens=adaptation.average_tokens,
        bucket_tokens=parameters.adaptation.bucket_tokens,
        average_age=adaptation.average_age,
        low_age_mark=adaptation.low_age_mark,
        high_age_mark=adaptation.high_age_mark,
        minimum_buffer=adaptation.minimum_buffer.estimate,
        own_buffer=peer.buffer.capacity,
        copies_for_each_event=adaptation.copies,
        copies_target=adaptation.copies_target,
        receipt=adaptation.receipt.value,
        group_size=adaptation.group_size.size,
        members_known=len(peer.view),
    )


def cause(peer: Peer) -> str:
    """What decides this sender's rate at present, as a sentence."""
    adaptation, parameters = peer.adaptation, peer.parameters
    if parameters.law == "none":
        return "nothing: this peer does not adapt its rate"
    if adaptation.average_tokens > parameters.adaptation.bucket_tokens / 2:
        return "nothing: the application uses less than is allowed"
    if parameters.law == "paper":
        if adaptation.average_age < adaptation.low_age_mark:
            return (
                f"congestion: a buffer of {adaptation.minimum_buffer.estimate} events drops them "
                f"at age {adaptation.average_age:.1f}, below the low mark "
                f"{adaptation.low_age_mark:.1f}"
            )
        if adaptation.average_age <= adaptation.high_age_mark:
            return (
                f"the rate is held: a buffer of {adaptation.minimum_buffer.estimate} events drops "
                f"them at age {adaptation.average_age:.1f}, between the marks"
            )
        return "the rate is rising: events grow old enough everywhere"
    if adaptation.reaches_everybody:
        return "the rate is rising: each gossip reaches every member, and no buffer drops anything"
    copies, target = adaptation.copies, adaptation.copies_target
    if copies < target:
        return (
            f"congestion: {copies:.2f} copies arrive for each event, and {target:.2f} are needed "
            f"for {parameters.adaptation.receipt_target:.1%} receivers"
        )
    if copies < HELD_BY_COPIES * target:
        return f"the rate is held: {copies:.2f} copies arrive for each event, as are needed"
    return f"the rate is rising: {copies:.2f} copies arrive for each event, {target:.2f} suffice"
