"""How large the group is, without anybody counting it; and the age marks that follow.

1. In each size period every peer draws a number of exponential variates.  The minimum over the
   group of n of them is exponential with rate n, and a minimum spreads by gossip as the smallest
   buffer does.  From the sum of m minima, n is estimated as (m − 1) / sum, with a relative error
   of 1/√(m − 2): 13 % for 64 (Mosk-Aoyama and Shah, "Computing Separable Functions via Gossip").
2. A variate travels as one byte, its negative logarithm in sixteenths (4 % apart), so the minimum
   is the largest byte.
3. A size period lasts longer than a number takes to reach everybody; the estimate in use is that
   of the last complete period.

The critical age grows with the logarithm of the group: an event reaches n peers in about
log n / log(1 + c) hops, and with the copies c that 95 % coverage needs each hop multiplies by a
constant.  The coefficient below is fitted to measured critical ages (docs/papers).
"""

from __future__ import annotations

from math import log
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.services.gossip.laws.numbers import Numbers
from penstock.services.gossip.messages import credible_period

VARIATES: Final = 64
STEPS_FOR_EACH_E: Final = 16
OFFSET: Final = 48
"""A byte of 0 stands for variates of exp(48 / 16) = 20 and more, 255 for exp(−207 / 16): minima
of up to 400,000 peers are told apart."""

SIZE_PERIOD_ROUNDS: Final = 20
"""Twice the critical age of 10,000 peers."""

PAPER_GROUP: Final = 60
"""The group for which the paper's marks were found."""

AGE_FOR_EACH_E: Final = 0.84
"""By how much the marks move when the group grows by a factor of e.  The critical age itself was
measured to grow by 0.86 between 60 and 10,000 peers."""


def drawn_sketch(random: Random) -> bytes:
    """One peer's variates for a period."""
    return bytes(_code(random.expovariate(1.0)) for _ in range(VARIATES))


def merged_sketch(first: bytes, second: bytes) -> bytes:
    """The minima of both."""
    if first == second:
        return first
    return bytes(map(max, first, second))


def estimated_size(codes: NDArray[np.uint8]) -> Numbers:
    """The size of the group whose minima these are, along the last axis; at least 1."""
    total = np.exp((OFFSET - codes.astype(np.float64)) / STEPS_FOR_EACH_E).sum(axis=-1)
    size: Numbers = np.maximum(1.0, (codes.shape[-1] - 1) / total)
    return size


def age_marks(low: float, high: float, group_size: Numbers) -> tuple[Numbers, Numbers]:
    """The paper's marks, moved by as much as the critical age of this group differs."""
    shift = AGE_FOR_EACH_E * np.log(np.maximum(group_size, 2.0) / PAPER_GROUP)
    lowest = 1.0 - low
    shift = np.maximum(shift, lowest)
    return low + shift, high + shift


def _code(variate: float) -> int:
    raw = OFFSET - STEPS_FOR_EACH_E * log(max(variate, 1e-12))
    return min(255, max(0, round(raw)))


class GroupSizeEstimate:
    """The size by periods."""

    __slots__ = ("_random", "_rounds", "period", "size", "sketch")

    def __init__(self, random: Random) -> None:
        """The group is taken for as large as the paper's until a period has passed."""
        self._random = random
        self._rounds = 0
        self.period = 0
        self.sketch = drawn_sketch(random)
        self.size = float(PAPER_GROUP)

    def heard(self, period: int, sketch: bytes) -> None:
        """A gossip's minima; those of a later period begin that period here too."""
        if len(sketch) != VARIATES or period < self.period:
            return
        if period > self.period:
            # Only a period that was lived through from its beginning has collected the group.
            if period == self.period + 1:
                self.size = self._estimate()
            self._begin(credible_period(period, self.period))
            if self.period < period:
                return
        self.sketch = merged_sketch(self.sketch, sketch)

    def next_round(self) -> None:
        """A gossip round has passed."""
        self._rounds += 1
        if self._rounds >= SIZE_PERIOD_ROUNDS:
            self.size = self._estimate()
            self._begin(self.period + 1)

    def _estimate(self) -> float:
        return float(estimated_size(np.frombuffer(self.sketch, np.uint8)))

    def _begin(self, period: int) -> None:
        self.period = period
        self._rounds = 0
        self.sketch = drawn_sketch(self._random)
