"""Who received what: the same bookkeeping for the simulated and the live group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from penstock.gossip.messages import Event, EventId
from penstock.lab.papers.gossip_scenario import ATOMIC_SHARE, GossipResult, GossipScenario


class DeliveryBook:
    """Every published event with its round and its receivers.

    The publisher counts as a receiver.  With churn, an event's audience is the size of the group
    when it was published.
    """

    def __init__(self, scenario: GossipScenario) -> None:
        """Nothing was published."""
        self._scenario = scenario
        self._round_of: dict[EventId, int] = {}
        self._receivers: dict[EventId, int] = {}
        self._audience: dict[EventId, int] = {}

    def published(self, identifier: EventId, round_number: int, audience: int) -> None:
        """An event was sent."""
        self._round_of[identifier] = round_number
        self._receivers[identifier] = 1 + self._receivers.get(identifier, 0)
        self._audience[identifier] = audience

    def delivered(self, events: Iterable[Event]) -> None:
        """An application got events."""
        receivers = self._receivers
        for event in events:
            receivers[event.id] = receivers.get(event.id, 0) + 1

    def result(
        self,
        seed: int,
        *,
        allowed_by_round: Sequence[float],
        drop_age: float,
        group_size: float,
    ) -> GossipResult:
        """Add everything up."""
        scenario = self._scenario
        first, last = scenario.warm_up_rounds, scenario.rounds - scenario.settle_rounds
        rounds = np.array(list(self._round_of.values()), dtype=np.int64)
        shares = np.array(
            [min(1.0, self._receivers[each] / self._audience[each]) for each in self._round_of]
        )
        counts = np.bincount(rounds, minlength=scenario.rounds + 1)[: scenario.rounds]
        with np.errstate(invalid="ignore"):
            receivers = np.bincount(rounds, shares, scenario.rounds + 1)[: scenario.rounds] / counts
            atomic = (
                np.bincount(rounds, shares >= ATOMIC_SHARE, scenario.rounds + 1)[: scenario.rounds]
                / counts
            )
        measured = (rounds >= first) & (rounds < last)
        share = float(shares[measured].mean()) if measured.any() else 0.0
        rate = float(counts[first:last].mean()) / scenario.period_s
        return GossipResult(
            seed=seed,
            input_rate_msgs_per_s=rate,
            allowed_rate_msgs_per_s=float(np.mean(allowed_by_round[first:last])),
            output_rate_msgs_per_s=rate * share,
            receivers=share,
            atomic=float((shares[measured] >= ATOMIC_SHARE).mean()) if measured.any() else 0.0,
            drop_age=drop_age,
            group_size=group_size,
            allowed_by_round=tuple(map(float, allowed_by_round)),
            input_by_round=tuple((counts / scenario.period_s).tolist()),
            receivers_by_round=tuple(receivers.tolist()),
            atomic_by_round=tuple(atomic.tolist()),
        )
