"""Fixed weights, for ``balancing = "round-robin"`` and ``"weighted"``: nothing is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from penstock.core.clock import Duration
from penstock.services.queues.laws.allotment import Turns
from penstock.services.queues.laws.law import QueueView


class FixedBalancing:
    """Turns of fixed length; one message each unless a weight is given."""

    monitors: Final = False
    pushed: Final = False
    longest_period_ns: Final[Duration | None] = None

    def __init__(self, weights: Mapping[str, int], first_period_ns: Duration) -> None:
        """``first_period_ns`` is only shown in the status: there is no control loop."""
        self.first_period_ns = first_period_ns
        self._turns = Turns()
        self._turns.weights = dict(weights)

    def allot(self, count: int, eligible: Sequence[str]) -> dict[str, int]:
        return self._turns.allot(count, eligible)

    def regulate(
        self, views: Mapping[str, QueueView], produced_msgs_per_s: float, period_s: float
    ) -> None:
        """The weights do not change."""

    def weight(self, queue: str) -> float:
        return self._turns.weight(queue)
