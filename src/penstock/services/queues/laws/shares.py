"""Our shares: by capacity, with an even backlog.

Consumption is not capacity: with spare capacity any split of the messages is a fixed point of the
paper's law, and a queue that starves looks slow.

1. A queue's capacity is what it consumed for each second in which it had anything to consume.  A
   queue that had nothing keeps its last estimate; one that was never seen busy is taken for an
   average one.
2. Backlog should lie where it is worked off soonest: each queue's part of all backlog is its part
   of all capacity, so that all of them would run dry together.
3. The distance from there is made good over a few seconds, by this alias queue's part of it when
   several feed the same queues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

CORRECTION_SECONDS: Final = 5.0
"""Backlog moves to where it should be over this time; quicker would overshoot between reports."""

CORRECTION_PERIODS: Final = 2.0
"""And never quicker than over two periods of the control loop: the loop stays damped."""


class QueueView(msgspec.Struct, frozen=True, gc=False):
    """What is known of a queue: capacity (None: never seen busy), load, alias queues feeding it."""

    capacity_msgs_per_s: float | None
    load: int
    feeders: int = 1


def capacity(consumed: int, busy_s: float, before: float | None) -> float | None:
    """Messages a second that the queue's consumers can do."""
    if consumed <= 0 or busy_s <= 0:
        return before
    return consumed / busy_s


def balanced_shares(
    views: Mapping[str, QueueView], produced_msgs_per_s: float, period_s: float
) -> dict[str, float]:
    """Each queue's share of the next messages; they sum to one."""
    capacities = _filled_in([view.capacity_msgs_per_s for view in views.values()])
    total_capacity = sum(capacities)
    total_load = sum(view.load for view in views.values())
    horizon_s = max(CORRECTION_SECONDS, CORRECTION_PERIODS * period_s)
    wanted = {}
    for (queue, view), each in zip(views.items(), capacities, strict=True):
        part = each / total_capacity
        excess = view.load - total_load * part
        rate = produced_msgs_per_s * part - excess / (horizon_s * max(1, view.feeders))
        wanted[queue] = max(0.0, rate)
    total = sum(wanted.values())
    if total <= 0:
        return {queue: each / total_capacity for queue, each in zip(views, capacities, strict=True)}
    return {queue: rate / total for queue, rate in wanted.items()}


def _filled_in(capacities: Sequence[float | None]) -> list[float]:
    known = [each for each in capacities if each is not None]
    usual = sum(known) / len(known) if known else 1.0
    return [usual if each is None else each for each in capacities]
