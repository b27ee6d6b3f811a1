"""A mean that gossip computes: what one peer makes of the values that it hears.

Every gossip carries a value and its weight.  A peer that has a value of its own puts it in every
round; what it hears it mixes in by weight; and the weight of what is not renewed fades.
"""

from __future__ import annotations

from penstock.services.gossip.laws.improved_rate import LARGEST_RATIO, mixed, with_own


class GossipedMean:
    """A mean over the peers that have a value."""

    __slots__ = ("_heard_sum", "_heard_weight", "_voices", "value", "weight")

    def __init__(self, value: float, weight: float) -> None:
        """Begin with a value of some weight between 0 and 1; 0 is not knowing."""
        self.value = value
        self.weight = weight
        self._heard_sum = 0.0
        self._heard_weight = 0.0
        self._voices = 0

    def heard(self, value: float, weight: float) -> None:
        """Another peer's mean, which counts only so far as it is credible."""
        weight = min(weight, 1.0)
        if self.weight > 0:
            value = min(max(value, self.value / LARGEST_RATIO), self.value * LARGEST_RATIO)
        self._heard_sum += weight * value
        self._heard_weight += weight
        self._voices += 1

    def next_round(self, own: float | None) -> None:
        """Mix in what was heard in the round, and one's own value if there is one."""
        if self._heard_weight or self.weight:
            value, weight = mixed(
                self.value, self.weight, self._heard_sum, self._heard_weight, self._voices
            )
            self.value, self.weight = float(value), float(weight)
        self._heard_sum = self._heard_weight = 0.0
        self._voices = 0
        if own is not None:
            value, weight = with_own(self.value, self.weight, own)
            self.value, self.weight = float(value), float(weight)
