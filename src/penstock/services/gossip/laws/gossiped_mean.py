"""A mean that gossip computes: what one peer makes of the values that it hears.

Every gossip carries a value and its weight.  A peer that has a value of its own puts it in every
round; what it hears it mixes in by weight; and the weight of what is not renewed fades.

Where few peers have a value, a peer's own is most of its mean: those of the others come over many
steps, and fade.  ``others`` is the mean of what was heard alone, to compare one's own value with.
"""

from __future__ import annotations

from penstock.services.gossip.laws.improved_rate import LARGEST_RATIO, mixed, with_own


class GossipedMean:
    """A mean over the peers that have a value."""

    __slots__ = (
        "_heard_sum",
        "_heard_weight",
        "_others",
        "_others_weight",
        "_voices",
        "value",
        "weight",
    )

    def __init__(self, value: float, weight: float) -> None:
        """Begin with a value of some weight between 0 and 1; 0 is not knowing."""
        self.value = value
        self.weight = weight
        self._others = value
        self._others_weight = 0.0
        self._heard_sum = 0.0
        self._heard_weight = 0.0
        self._voices = 0

    @property
    def others(self) -> float | None:
        """The mean of what was heard lately; None if nothing was."""
        return self._others if self._others_weight > 0 else None

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
        others, others_weight = mixed(
            self._others, self._others_weight, self._heard_sum, self._heard_weight, self._voices
        )
        self._others, self._others_weight = float(others), float(others_weight)
        self._heard_sum = self._heard_weight = 0.0
        self._voices = 0
        if own is not None:
            value, weight = with_own(self.value, self.weight, own)
            self.value, self.weight = float(value), float(weight)
