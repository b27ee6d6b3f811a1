"""The first tick of a subscription on a stream on which it has no position.

1. Before it is in force its start decides: "now" is the tick that the source has confirmed,
   "earliest" the beginning of the log, "time" an instant that the caller gives.
2. Once it was in force, everything that was published since that instant is due, also on a pubend
   that was unknown then: a new one, or one whose broker could not be reached.  The rule may only
   start it earlier.
3. What is due and no longer kept is a loss that the reader is told.  Ticks before the stream's own
   beginning are no loss, since nothing was ever published there.
"""

from __future__ import annotations

from penstock.core.intervals import Tick
from penstock.services.guaranteed.edge.sources import SourceView
from penstock.services.guaranteed.edge.subscription import Subscription


def first_tick(subscription: Subscription, pubend: str, view: SourceView, confirmed: Tick) -> Tick:
    """The first tick that is due to a subscription; below the log's start if some of it is lost."""
    earliest = view.earliest.get(pubend, confirmed)
    by_rule = confirmed
    if subscription.start == "earliest":
        by_rule = earliest
    elif subscription.start == "time":
        by_rule = max(subscription.start_time, earliest)
    if subscription.since is None:
        return by_rule
    promised = subscription.since
    if subscription.start == "time":
        promised = max(promised, subscription.start_time)
    due = max(min(promised, confirmed), view.beginnings.get(pubend, earliest))
    return min(by_rule, due)


def claimed_from(subscription: Subscription) -> Tick:
    """The first tick that a durable subscription needs of a stream without a position."""
    if subscription.start == "earliest":
        return 0
    if subscription.start == "time":
        return min(subscription.start_time, subscription.made_at)
    return subscription.made_at
