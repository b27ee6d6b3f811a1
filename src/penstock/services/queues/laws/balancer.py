"""The load balancing controller of one alias queue (Section IV, Figure 3).

It takes the reports of the destinations and the number of messages produced, and has the law
compute new weights at the end of every period.  Each alias queue has its own; there is no central
one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.core.clock import SECOND, Duration, Instant, in_seconds
from penstock.services.queues.laws.law import BalancingLaw, QueueView
from penstock.services.queues.laws.period import period_ns
from penstock.services.queues.laws.shares import capacity
from penstock.services.queues.parameters import QueueParameters


class LoadSample(msgspec.Struct, frozen=True, gc=False):
    """A destination's report at one instant; counts are since its ``epoch``."""

    epoch: Instant
    at: Instant
    load: int
    consumed: int
    busy_ns: Duration
    feeders: int = 1


class Balancer:
    """Measures the destinations of an alias queue and applies the law."""

    def __init__(
        self, law: BalancingLaw, overhead: float, parameters: QueueParameters, now: Instant
    ) -> None:
        """``overhead`` is the number of monitoring messages tolerated per message produced."""
        self._law = law
        self._overhead = overhead
        self._period_min_ns = parameters.period_min_ns
        longest = law.longest_period_ns
        most = parameters.period_max_ns
        self._period_max_ns = most if longest is None else min(most, longest)
        self._samples: dict[str, LoadSample] = {}
        self._rates: dict[str, float] = {}
        self._capacities: dict[str, float | None] = {}
        self._produced = 0
        self._produced_from = now
        self.produced_msgs_per_s = 0.0
        self.monitors, self.pushed = law.monitors, law.pushed
        self.period_ns = law.first_period_ns

    def allot(self, count: int, eligible: Sequence[str]) -> dict[str, int]:
        """How many of the next messages go to each of the destinations that can take some."""
        return self._law.allot(count, eligible)

    # -- measuring --------------------------------------------------------------------------

    def produced(self, count: int) -> None:
        """Count messages that were sent to the alias queue."""
        self._produced += count

    def report(self, queue: str, sample: LoadSample) -> None:
        """Take a destination's report; rates are between two reports with the same epoch."""
        before = self._samples.get(queue)
        self._samples[queue] = sample
        if before is None or before.epoch != sample.epoch or sample.at <= before.at:
            return
        consumed = sample.consumed - before.consumed
        self._rates[queue] = consumed * SECOND / (sample.at - before.at)
        busy_s = in_seconds(sample.busy_ns - before.busy_ns)
        self._capacities[queue] = capacity(consumed, busy_s, self._capacities.get(queue))

    def forget(self, queue: str) -> None:
        """Forget a destination that is gone: its reports say nothing about its return."""
        self._samples.pop(queue, None)
        self._rates.pop(queue, None)
        self._capacities.pop(queue, None)

    # -- regulating -------------------------------------------------------------------------

    def begin(self, now: Instant) -> Duration:
        """Production starts (again); returns the time until the first regulation."""
        self._produced = 0
        self._produced_from = now
        self.period_ns = self._law.first_period_ns
        return self.period_ns

    def regulate(self, reachable: Sequence[str], now: Instant) -> bool:
        """One iteration of Algorithm 1: new weights, and the period until the next iteration.

        False if nothing was produced: there is nothing to balance until production begins again.
        """
        if not self._produced:
            return False
        self.produced_msgs_per_s = self._produced / max(in_seconds(now - self._produced_from), 1e-9)
        self._produced = 0
        self._produced_from = now
        views = {queue: self._view(queue) for queue in reachable if queue in self._samples}
        if views:
            self._law.regulate(views, self.produced_msgs_per_s, in_seconds(self.period_ns))
        messages = 1 if self.pushed else 2
        self.period_ns = period_ns(
            messages * max(1, len(reachable)),
            self._overhead,
            self.produced_msgs_per_s,
            least=self._period_min_ns,
            most=self._period_max_ns,
        )
        return True

    def _view(self, queue: str) -> QueueView:
        sample = self._samples[queue]
        rate = self._rates.get(queue, 0.0)
        return QueueView(self._capacities.get(queue), sample.load, sample.feeders, rate)

    # -- looking in -------------------------------------------------------------------------

    def weight(self, queue: str) -> float:
        """The present weight of a destination."""
        return self._law.weight(queue)

    def consumption_msgs_per_s(self, queue: str) -> float | None:
        """The rate at which a destination consumed in the last period, if it is known."""
        return self._rates.get(queue)

    def load(self, queue: str) -> int | None:
        """How many messages waited at a destination when it last reported."""
        sample = self._samples.get(queue)
        return None if sample is None else sample.load
