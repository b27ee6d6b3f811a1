"""Why messages wait in an alias queue, in a sentence."""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.services.queues.alias.destination import AliasDestination
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.laws.balancer import Balancer


def explain(destinations: Destinations, balancer: Balancer, now: Instant) -> str:
    """For each destination the rate at which it consumes, or why it gets nothing."""
    alone = destinations.is_single
    reasons = [f"{each.address} {_why(each, balancer, now, alone)}" for each in destinations]
    return "; ".join(reasons) or "it has no destinations"


def _why(destination: AliasDestination, balancer: Balancer, now: Instant, alone: bool) -> str:
    nothing = destination.why_not(now, alone=alone)
    if nothing:
        return nothing
    rate = balancer.consumption_msgs_per_s(destination.address)
    load = balancer.load(destination.address)
    consumed = "an unknown rate" if rate is None else f"{rate:.0f} messages/s"
    return f"takes {consumed}, {'an unknown number' if load is None else load} waiting there"
