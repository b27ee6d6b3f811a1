"""Divides the next messages among queues: by turns, or by shares.

1. Turns (Section IV.B): a weight is the number of messages that go to the same queue before the
   next queue has its turn.  Round-robin is a weight of one for each.
2. Shares: every message adds each queue's share to its claim, and takes one from the claim of the
   queue that gets it; the largest claim wins.  Weights need not be integers, and no queue waits for
   another's turn to end.

Both compute for a whole run of messages how many each queue gets, so that a run is cut into at most
as many pieces as there are queues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class Turns:
    """Integer weights: one queue after the other."""

    def __init__(self) -> None:
        """The weight of a queue is one unless it is set."""
        self.weights: dict[str, int] = {}
        self._at = ""
        self._left = 0

    def weight(self, queue: str) -> float:
        return float(self.weights.get(queue, 1))

    def allot(self, count: int, eligible: Sequence[str]) -> dict[str, int]:
        """How many of the next ``count`` messages go to each."""
        if len(eligible) == 1:
            return {eligible[0]: count}
        weights = [self.weights.get(name, 1) for name in eligible]
        rounds, rest = divmod(count, sum(weights))
        given = {name: rounds * weight for name, weight in zip(eligible, weights, strict=True)}
        index = eligible.index(self._at) if self._at in eligible else 0
        if self._at not in eligible:
            self._left = weights[index]
        while rest:
            if not self._left:
                index = (index + 1) % len(eligible)
                self._left = weights[index]
            step = min(rest, self._left)
            given[eligible[index]] += step
            self._left -= step
            rest -= step
        self._at = eligible[index]
        return given


class Shares:
    """Real-valued shares."""

    def __init__(self) -> None:
        """Shares are equal until they are set."""
        self._shares: dict[str, float] = {}
        self._claims: dict[str, float] = {}

    def set(self, shares: Mapping[str, float]) -> None:
        """Use these shares from now on; the claims of queues that stay are kept."""
        self._shares = dict(shares)
        self._claims = {name: self._claims.get(name, 0.0) for name in shares}

    def share(self, queue: str) -> float:
        return self._shares.get(queue, 1.0)

    def allot(self, count: int, eligible: Sequence[str]) -> dict[str, int]:
        """How many of the next ``count`` messages go to each."""
        if len(eligible) == 1:
            return {eligible[0]: count}
        known = [self._shares[name] for name in eligible if name in self._shares]
        usual = sum(known) / len(known) if known else 1.0
        shares = [self._shares.get(name, usual) for name in eligible]
        total = sum(shares)
        if total <= 0:
            shares, total = [1.0] * len(eligible), float(len(eligible))
        claims = {
            name: self._claims.get(name, 0.0) + count * share / total
            for name, share in zip(eligible, shares, strict=True)
        }
        given = {name: max(0, int(claim)) for name, claim in claims.items()}
        by_claim = sorted(eligible, key=lambda name: given[name] - claims[name])
        missing = count - sum(given.values())
        for step in range(abs(missing)):
            if missing > 0:
                given[by_claim[step % len(by_claim)]] += 1
            else:
                given[max(eligible, key=lambda name: given[name] - claims[name])] -= 1
        for name in eligible:
            self._claims[name] = claims[name] - given[name]
        return given
