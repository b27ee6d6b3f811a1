"""The estimates that gossip computes, as arrays over all peers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.services.gossip.laws.improved_rate import LARGEST_RATIO, mixed, with_own
from penstock.services.gossip.membership.group_size import (
    OFFSET,
    PAPER_GROUP,
    SIZE_PERIOD_ROUNDS,
    STEPS_FOR_EACH_E,
    VARIATES,
    estimated_size,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class GossipedMeans:
    """``GossipedMean`` for all peers."""

    def __init__(self, value: Floats, weight: Floats) -> None:
        """A weight of 0 means unknown."""
        self.value = value
        self.weight = weight
        self._heard_sum = np.zeros_like(value)
        self._heard_weight = np.zeros_like(value)
        self._voices = np.zeros_like(value)
        self._others = value.copy()
        self._others_weight = np.zeros_like(value)

    def others(self, rows: Integers, otherwise: Floats) -> Floats:
        """The means of what these peers heard lately; ``otherwise`` where they heard nothing."""
        return np.where(self._others_weight[rows] > 0, self._others[rows], otherwise)

    def heard(self, receivers: Integers, senders: Integers) -> None:
        """Each receiver merges the estimate of its sender; a peer may occur several times."""
        values, weights = self.value[senders], self.weight[senders]
        known = self.value[receivers]
        credible = np.clip(values, known / LARGEST_RATIO, known * LARGEST_RATIO)
        counted = np.where(self.weight[receivers] > 0, credible, values)
        self._heard_sum += np.bincount(receivers, weights * counted, len(self.value))
        self._heard_weight += np.bincount(receivers, weights, len(self.value))
        self._voices += np.bincount(receivers, minlength=len(self.value))

    def next_round(self, rows: Integers, own: Floats) -> None:
        """Mix the received values of these peers with their own, where they have one (not NaN)."""
        value, weight = mixed(
            self.value[rows],
            self.weight[rows],
            self._heard_sum[rows],
            self._heard_weight[rows],
            self._voices[rows],
        )
        self._others[rows], self._others_weight[rows] = mixed(
            self._others[rows],
            self._others_weight[rows],
            self._heard_sum[rows],
            self._heard_weight[rows],
            self._voices[rows],
        )
        with_value, with_weight = with_own(value, weight, own)
        self.value[rows] = np.where(np.isnan(own), value, with_value)
        self.weight[rows] = np.where(np.isnan(own), weight, with_weight)
        self._heard_sum[rows] = 0
        self._heard_weight[rows] = 0
        self._voices[rows] = 0


class GroupSizes:
    """``GroupSizeEstimate`` for all peers; all begin a period together."""

    def __init__(self, peers: int, random: np.random.Generator) -> None:
        """Draw the variates of every peer."""
        self._random = random
        self._rounds = 0
        self.size: Floats = np.full(peers, float(PAPER_GROUP))
        self.sketch = self._drawn()

    def merge(self, receivers: Integers, sketches: NDArray[np.uint8]) -> None:
        """Each receiver merges one sketch."""
        self.sketch[receivers] = np.maximum(self.sketch[receivers], sketches)

    def next_round(self) -> None:
        """Advance all peers by one gossip round."""
        self._rounds += 1
        if self._rounds % SIZE_PERIOD_ROUNDS == 0:
            self.size = np.asarray(estimated_size(self.sketch))
            self.sketch = self._drawn()

    def _drawn(self) -> NDArray[np.uint8]:
        variates = self._random.exponential(1.0, (len(self.size), VARIATES))
        raw = OFFSET - STEPS_FOR_EACH_E * np.log(np.maximum(variates, 1e-12))
        codes: NDArray[np.uint8] = np.clip(np.rint(raw), 0, 255).astype(np.uint8)
        return codes
