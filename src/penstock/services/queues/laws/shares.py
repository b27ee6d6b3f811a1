"""The shares of the improved law: by capacity, with an even backlog.

Consumption is not capacity: with spare capacity any split of the messages is a fixed point of the
paper's law, and a queue that starves looks slow.

1. The capacity of a queue is what it consumed per second in which it had messages to consume.  A
   queue that had none keeps its last estimate; one that was never seen busy counts as average.
2. Backlog should be where it is consumed soonest: the part of the backlog that each queue has
   should equal its part of the capacity, so that all queues would run empty at the same time.
3. The excess is corrected over a few seconds.  When several alias queues feed the same queues, each
   corrects its part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from penstock.services.queues.laws.law import QueueView

CORRECTION_SECONDS: Final = 5.0
"""The backlog is corrected over this time; a faster correction would overshoot between reports."""

CORRECTION_PERIODS: Final = 2.0
"""The correction takes at least two periods of the control loop, so that the loop stays damped."""


def capacity(consumed: int, busy_s: float, before: float | None) -> float | None:
    """Messages per second that the consumers of a queue can process."""
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
