"""The improved law: shares by capacity with an even backlog, and reports that are pushed.

``laws/shares`` computes the shares.  Destinations report at every period without being asked: half
of the monitoring messages, so half of the period at the same overhead.  Where few messages are
produced the period is bounded instead: a report in 2.5 s for each destination is no load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from penstock.core.clock import SECOND, Duration
from penstock.services.queues.laws.allotment import Shares
from penstock.services.queues.laws.law import QueueView
from penstock.services.queues.laws.shares import (
    CORRECTION_PERIODS,
    CORRECTION_SECONDS,
    balanced_shares,
)
from penstock.services.queues.parameters import AliasConfig

IMPROVED_FIRST_PERIOD_NS: Final[Duration] = 1 * SECOND
"""What a starved consumer misses in the first period is lost when production equals capacity: a
tenth of the paper's period costs a tenth (docs/papers/store-and-forward.md)."""

LONGEST_PERIOD_NS: Final[Duration] = round(CORRECTION_SECONDS / CORRECTION_PERIODS * SECOND)
"""The longest period at which the correction still takes ``CORRECTION_SECONDS``.  With a longer one
the overhead, which is relative to the messages produced, would slow the whole law down: at 100
messages a second and three destinations the period would be 30 s."""


class ImprovedBalancing:
    """Capacity instead of consumption, and smooth shares instead of turns."""

    monitors: Final = True
    pushed: Final = True
    longest_period_ns: Final[Duration | None] = LONGEST_PERIOD_NS

    def __init__(self, config: AliasConfig) -> None:
        self.first_period_ns = config.first_period_ns or IMPROVED_FIRST_PERIOD_NS
        self._shares = Shares()

    def allot(self, count: int, eligible: Sequence[str]) -> dict[str, int]:
        return self._shares.allot(count, eligible)

    def regulate(
        self, views: Mapping[str, QueueView], produced_msgs_per_s: float, period_s: float
    ) -> None:
        self._shares.set(balanced_shares(views, produced_msgs_per_s, period_s))

    def weight(self, queue: str) -> float:
        return self._shares.share(queue)
