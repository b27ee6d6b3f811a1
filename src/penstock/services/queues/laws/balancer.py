"""The load balancing controller of one alias queue (Section IV, Figure 3).

It is told what the destinations report and how much was produced, and says how many of the next
messages each destination gets.  There is one in each alias queue and nothing central.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.core.clock import SECOND, Duration, Instant, in_seconds
from penstock.services.queues.laws.allotment import Shares, Turns
from penstock.services.queues.laws.period import period_ns
from penstock.services.queues.laws.shares import QueueView, balanced_shares, capacity
from penstock.services.queues.laws.weights import paper_weights
from penstock.services.queues.parameters import AliasConfig, QueueParameters, first_period_ns


class Sample(msgspec.Struct, frozen=True, gc=False):
    """A destination's account of itself at one instant; counts are since its ``epoch``."""

    epoch: Instant
    at: Instant
    load: int
    consumed: int
    busy_ns: Duration
    feeders: int = 1


class Balancer:
    """Weights for the destinations of an alias queue."""

    def __init__(self, config: AliasConfig, parameters: QueueParameters, now: Instant) -> None:
        """Everybody gets the same until the first period is over."""
        self._config = config
        self._parameters = parameters
        self._turns = Turns()
        self._shares = Shares()
        self._samples: dict[str, Sample] = {}
        self._rates: dict[str, float] = {}
        self._capacities: dict[str, float | None] = {}
        self._produced = 0
        self._produced_from = now
        self.produced_msgs_per_s = 0.0
        self.period_ns = first_period_ns(config)
        if config.balancing == "weighted":
            self._turns.weights = dict(config.weights)

    @property
    def monitors(self) -> bool:
        """Whether the policy depends on what the destinations report."""
        return self._config.balancing == "flow-control"

    @property
    def pushed(self) -> bool:
        """Whether destinations report by themselves, instead of being asked each time."""
        return self._config.law == "improved"

    def allot(self, count: int, eligible: Sequence[str]) -> dict[str, int]:
        """How many of the next messages go to each of the destinations that can take some."""
        if self.monitors and self._config.law == "improved":
            return self._shares.allot(count, eligible)
        return self._turns.allot(count, eligible)

    def produced(self, count: int) -> None:
        """So many messages were sent to the alias queue."""
        self._produced += count

    def report(self, queue: str, sample: Sample) -> None:
        """A destination's answer; rates are between two answers of the same incarnation."""
        before = self._samples.get(queue)
        self._samples[queue] = sample
        if before is None or before.epoch != sample.epoch or sample.at <= before.at:
            return
        consumed = sample.consumed - before.consumed
        self._rates[queue] = consumed * SECOND / (sample.at - before.at)
        busy_s = in_seconds(sample.busy_ns - before.busy_ns)
        self._capacities[queue] = capacity(consumed, busy_s, self._capacities.get(queue))

    def forget(self, queue: str) -> None:
        """A destination is gone: what was known of it says nothing about its return."""
        self._samples.pop(queue, None)
        self._rates.pop(queue, None)
        self._capacities.pop(queue, None)

    def begin(self, now: Instant) -> Duration:
        """Production starts (again); how long until the first regulation."""
        self._produced = 0
        self._produced_from = now
        self.period_ns = first_period_ns(self._config)
        return self.period_ns

    def regulate(self, reachable: Sequence[str], now: Instant) -> bool:
        """One iteration of Algorithm 1: new weights, and the period until the next.

        False if nothing was produced: there is nothing to balance until production begins again.
        """
        if not self._produced:
            return False
        self.produced_msgs_per_s = self._produced / max(in_seconds(now - self._produced_from), 1e-9)
        self._produced = 0
        self._produced_from = now
        known = [queue for queue in reachable if queue in self._samples]
        if known and self._config.law == "paper":
            self._paper(known)
        elif known:
            self._improved(known)
        messages = 1 if self.pushed else 2
        self.period_ns = period_ns(
            messages * max(1, len(reachable)),
            self._config.overhead,
            self.produced_msgs_per_s,
            least=self._parameters.period_min_ns,
            most=self._parameters.period_max_ns,
        )
        return True

    def _paper(self, known: list[str]) -> None:
        rates = {queue: self._rates.get(queue, 0.0) for queue in known}
        loads = {queue: self._samples[queue].load for queue in known}
        limit = self._config.max_load_messages
        self._turns.weights = paper_weights(rates, loads, limit, self._turns.weights)

    def _improved(self, known: list[str]) -> None:
        views = {
            queue: QueueView(
                self._capacities.get(queue),
                self._samples[queue].load,
                self._samples[queue].feeders,
            )
            for queue in known
        }
        period_s = in_seconds(self.period_ns)
        self._shares.set(balanced_shares(views, self.produced_msgs_per_s, period_s))

    def weight(self, queue: str) -> float:
        """A destination's weight at present, for people."""
        if self.monitors and self._config.law == "improved":
            return self._shares.shares.get(queue, 1.0)
        return float(self._turns.weights.get(queue, 1))

    def consumption_msgs_per_s(self, queue: str) -> float | None:
        """What a destination consumed in the last period, as far as it is known."""
        return self._rates.get(queue)

    def load(self, queue: str) -> int | None:
        """What waited at a destination when it last reported."""
        sample = self._samples.get(queue)
        return None if sample is None else sample.load
