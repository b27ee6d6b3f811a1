"""The paper's law: weights by consumption, as turns, with a question to every destination.

Section IV.B and Algorithm 1; ``laws/weights`` computes the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from penstock.core.clock import SECOND, Duration
from penstock.services.queues.laws.allotment import Turns
from penstock.services.queues.laws.law import QueueView
from penstock.services.queues.laws.weights import paper_weights
from penstock.services.queues.parameters import AliasConfig

PAPER_FIRST_PERIOD_NS: Final[Duration] = 10 * SECOND
"""Section V.B."""


class PaperBalancing:
    """Algorithm 1."""

    monitors: Final = True
    pushed: Final = False
    longest_period_ns: Final[Duration | None] = None

    def __init__(self, config: AliasConfig) -> None:
        self.first_period_ns = config.first_period_ns or PAPER_FIRST_PERIOD_NS
        self._max_load = config.max_load_messages
        self._turns = Turns()

    def allot(self, count: int, eligible: Sequence[str]) -> dict[str, int]:
        return self._turns.allot(count, eligible)

    def regulate(
        self, views: Mapping[str, QueueView], produced_msgs_per_s: float, period_s: float
    ) -> None:
        rates = {queue: view.consumed_msgs_per_s for queue, view in views.items()}
        loads = {queue: view.load for queue, view in views.items()}
        turns = self._turns
        turns.weights = paper_weights(rates, loads, self._max_load, turns.weights)

    def weight(self, queue: str) -> float:
        return self._turns.weight(queue)
