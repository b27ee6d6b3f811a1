"""The interface of a balancing law, and what a law knows of each destination.

A law decides how the next messages of an alias queue are divided among its destinations.
``laws/balancer`` measures the destinations and calls the law at the end of every period.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from penstock.core.clock import Duration


class QueueView(msgspec.Struct, frozen=True, gc=False):
    """What is known of a destination queue at the end of a period.

    ``capacity_msgs_per_s`` is None if the queue was never seen busy.  ``feeders`` is the number of
    alias queues that forward to it.
    """

    capacity_msgs_per_s: float | None
    load: int
    feeders: int = 1
    consumed_msgs_per_s: float = 0.0


class BalancingLaw(Protocol):
    """How an alias queue divides messages among its destinations."""

    @property
    def monitors(self) -> bool:
        """Whether the law depends on what the destinations report."""
        ...

    @property
    def pushed(self) -> bool:
        """Whether destinations report by themselves, instead of being asked each time."""
        ...

    @property
    def first_period_ns(self) -> Duration:
        """How long messages are divided equally before the first regulation."""
        ...

    @property
    def longest_period_ns(self) -> Duration | None:
        """The longest period at which the law works; None if only the overhead bounds it."""
        ...

    def allot(self, count: int, eligible: Sequence[str]) -> dict[str, int]:
        """How many of the next ``count`` messages go to each of the eligible destinations."""
        ...

    def regulate(
        self, views: Mapping[str, QueueView], produced_msgs_per_s: float, period_s: float
    ) -> None:
        """Compute new weights from what is known at the end of a period."""
        ...

    def weight(self, queue: str) -> float:
        """The present weight of a destination, for the status document."""
        ...
