"""Why messages wait in an alias queue, in a sentence."""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.services.queues.alias.destination import Destination
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.laws.balancer import Balancer


def explain(destinations: Destinations, balancer: Balancer, now: Instant) -> str:
    """What each destination does, or why it gets nothing."""
    alone = destinations.is_single
    reasons = [f"{each.address} {_why(each, balancer, now, alone)}" for each in destinations]
    return "; ".join(reasons) or "it has no destinations"


def _why(destination: Destination, balancer: Balancer, now: Instant, alone: bool) -> str:
    nothing = destination.why_not(now, alone=alone)
    if nothing:
        return nothing
    rate = balancer.consumption_msgs_per_s(destination.address)
    load = balancer.load(destination.address)
    consumed = "an unknown rate" if rate is None else f"{rate:.0f} messages/s"
    return f"takes {consumed}, {'an unknown number' if load is None else load} waiting there"
