"""Measurements of a gossip run: deliveries, and the peers' own telemetry.

Both are the same for the simulated and the live group.  Deliveries are reported by the application
and kept in a book; rates, drops and sizes are the peers' own telemetry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from penstock.core.clock import Instant
from penstock.lab.telemetry.telemetry import Point, Telemetry
from penstock.papers.adaptive_gossip.scenario import ATOMIC_SHARE, GossipResult, GossipScenario
from penstock.services.gossip.messages import Event, EventId
from penstock.services.gossip.telemetry import ALLOWED, DROPPED, DROPPED_AGES, GROUP_SIZE

STABLE_WITHIN: Final = 0.05
"""A rate is stable from the round after which it stays within this distance of its later mean: one
step of the paper's law (r_H and r_L are 5 %)."""

SMOOTHED_ROUNDS: Final = 5
"""Rates are averaged over this many rounds before stability is judged."""


class DeliveryBook:
    """Every published event with its round and its receivers.

    The publisher counts as a receiver.  With churn, an event's audience is the size of the group
    when it was published.
    """

    def __init__(self) -> None:
        self._round_of: dict[EventId, int] = {}
        self._receivers: dict[EventId, int] = {}
        self._audience: dict[EventId, int] = {}

    @property
    def most_receivers(self) -> int:
        """The receivers of the event that was delivered most often."""
        return max(self._receivers.values(), default=0)

    def published(self, identifier: EventId, round_number: int, audience: int) -> None:
        self._round_of[identifier] = round_number
        self._receivers[identifier] = 1 + self._receivers.get(identifier, 0)
        self._audience[identifier] = audience

    def delivered(self, events: Iterable[Event]) -> None:
        """Record events that an application received."""
        receivers = self._receivers
        for event in events:
            receivers[event.id] = receivers.get(event.id, 0) + 1

    def rounds_and_shares(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """For every event its round of publication and the share of peers that received it."""
        rounds = np.array(list(self._round_of.values()), dtype=np.int64)
        shares = [min(1.0, self._receivers[each] / self._audience[each]) for each in self._round_of]
        return rounds, np.array(shares)


class GroupRecords(msgspec.Struct, frozen=True):
    """The peers' telemetry of one run, and the instants of its rounds."""

    telemetry: Telemetry
    senders: Collection[str]
    """The publishing nodes, including those that joined or left."""
    started_at: Instant

    def allowed_by_round(self, scenario: GossipScenario) -> NDArray[np.float64]:
        """The allowed rate of all senders together at the end of each round."""
        total = np.zeros(scenario.rounds)
        for node, points in self._by_node(ALLOWED).items():
            if node in self.senders:
                _add_lasting(total, [(self._round(at, scenario), value) for at, value in points])
        return total

    def drop_age(self, scenario: GossipScenario) -> float:
        """The average age of dropped events after the warm-up."""
        warm_at = self.started_at + scenario.warm_up_rounds * scenario.parameters.gossip_period_ns
        count, ages = (
            sum(_gain(points, warm_at) for points in self._by_node(metric).values())
            for metric in (DROPPED, DROPPED_AGES)
        )
        return ages / count if count > 0 else float("nan")

    def group_size(self) -> float:
        """The peers' final estimate of the group's size, on average."""
        last = [points[-1][1] for points in self._by_node(GROUP_SIZE).values()]
        return float(np.mean(last)) if last else float("nan")

    def _by_node(self, metric: str) -> Mapping[str, Sequence[Point]]:
        return {node: points for (node, _), points in self.telemetry.series(metric).items()}

    def _round(self, at: Instant, scenario: GossipScenario) -> int:
        return (at - self.started_at) // scenario.parameters.gossip_period_ns


def _add_lasting(total: NDArray[np.float64], points: Sequence[tuple[int, float]]) -> None:
    """Add a quantity that keeps its value from one record to the next, and ends with the last."""
    ends = [*(first for first, _ in points[1:]), points[-1][0] + 1]
    for (first, value), end in zip(points, ends, strict=True):
        total[max(first, 0) : max(end, 0)] += value


def _gain(points: Sequence[Point], since: Instant) -> float:
    """The growth of a count since an instant."""
    before = [value for at, value in points if at < since]
    return points[-1][1] - (before[-1] if before else 0.0)


def measured(
    scenario: GossipScenario, seed: int, book: DeliveryBook, records: GroupRecords
) -> GossipResult:
    """Compute the result."""
    first, last = scenario.warm_up_rounds, scenario.rounds - scenario.settle_rounds
    rounds, shares = book.rounds_and_shares()
    counts = np.bincount(rounds, minlength=scenario.rounds + 1)[: scenario.rounds]
    receivers = _mean_by_round(rounds, shares, counts)
    atomic = _mean_by_round(rounds, (shares >= ATOMIC_SHARE).astype(np.float64), counts)
    counted = shares[(rounds >= first) & (rounds < last)]
    share = float(counted.mean()) if len(counted) else 0.0
    rate = float(counts[first:last].mean()) / scenario.period_s
    allowed = records.allowed_by_round(scenario)
    return GossipResult(
        seed=seed,
        input_rate_msgs_per_s=rate,
        allowed_rate_msgs_per_s=float(allowed[first:last].mean()),
        output_rate_msgs_per_s=rate * share,
        receivers=share,
        atomic=float((counted >= ATOMIC_SHARE).mean()) if len(counted) else 0.0,
        drop_age=records.drop_age(scenario),
        group_size=records.group_size(),
        allowed_by_round=tuple(allowed.tolist()),
        input_by_round=tuple((counts / scenario.period_s).tolist()),
        receivers_by_round=tuple(receivers.tolist()),
        atomic_by_round=tuple(atomic.tolist()),
    )


def _mean_by_round(
    rounds: NDArray[np.int64], values: NDArray[np.float64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The mean for each round; NaN where there is no value."""
    sums = np.bincount(rounds, values, len(counts) + 1)[: len(counts)]
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = sums / counts
    return means


def settling_rounds(rates: Sequence[float]) -> float:
    """Rounds until a rate stays near its level, which is its mean over the last two thirds."""
    smooth = np.convolve(rates, np.ones(SMOOTHED_ROUNDS) / SMOOTHED_ROUNDS, mode="valid")
    level = smooth[len(smooth) // 3 :].mean()
    off = np.flatnonzero(np.abs(smooth / level - 1) > STABLE_WITHIN)
    # An average belongs to the middle of its rounds.
    return float(off[-1] + 1 + SMOOTHED_ROUNDS // 2) if len(off) else 0.0
