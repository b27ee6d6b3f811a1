"""Which buffer is the poorest in the group: Figure 5 (a), by sample periods.

1. For each sample period a peer keeps the smallest buffer sizes that it has heard of, its own
   among them; every gossip carries the period's number and these.
2. What is heard for the present period is merged; a later period's number advances one's own,
   which is all the clock synchronisation that is needed (Section 3.1).
3. The estimate is the minimum over the last Δ periods, so that a period that has only begun does
   not let the rate jump, and a peer that has left is forgotten after Δ periods.
4. Section 6: with ``rank`` n the n smallest are kept, by peer, and the estimate is the n-th, so
   that fewer than n poor peers hold nobody back.  With n = 1 this is the paper's algorithm.
"""

from __future__ import annotations

from collections import deque

from penstock.core.machine import InvariantBroken
from penstock.services.gossip.messages import BufferClaim, credible_period


class MinimumBufferEstimate:
    """The n-th smallest buffer of the last Δ periods."""

    __slots__ = ("_claims", "_floor", "_origin", "_own", "_past", "_rank", "estimate", "period")

    def __init__(self, own: int, origin: int, *, rank: int, periods: int, floor: int) -> None:
        """Only one's own buffer is known; ``floor`` is the least that is believed."""
        self._own = own
        self._origin = origin
        self._rank = rank
        self._floor = floor
        self._past: deque[int | None] = deque([None] * (periods - 1), maxlen=periods - 1)
        self.period = periods
        self._claims: tuple[BufferClaim, ...] = ()
        self._begin()
        self.estimate = own

    @property
    def claims(self) -> tuple[BufferClaim, ...]:
        """What to gossip: the smallest of this period, smallest first."""
        return self._claims

    def resize(self, own: int) -> None:
        """One's own buffer changed; a smaller one counts at once, a larger one from the next."""
        self._own = own
        self._merge((BufferClaim(own, self._origin),))
        if self._rank == 1:
            self.estimate = min(self.estimate, own)

    def heard(self, period: int, claims: tuple[BufferClaim, ...]) -> None:
        """A gossip of some period came."""
        if period > self.period:
            self._advance(credible_period(period, self.period))
        if period == self.period and claims and claims != self._claims:
            self._merge(claims)

    def next_period(self) -> None:
        """S has passed (Figure 5 (a), the last part)."""
        self._advance(self.period + 1)

    def _advance(self, period: int) -> None:
        self._past.append(self._value())
        self.period = period
        self._begin()
        known = [value for value in (self._value(), *self._past) if value is not None]
        self.estimate = min(known) if known else self._own

    def _begin(self) -> None:
        self._claims = (BufferClaim(self._own, self._origin),)

    def _merge(self, claims: tuple[BufferClaim, ...]) -> None:
        smallest: dict[int, int] = {}
        for claim in (*self._claims, *claims):
            events = max(claim.events, self._floor)
            known = smallest.get(claim.origin)
            if known is None or events < known:
                smallest[claim.origin] = events
        ranked = sorted((events, origin) for origin, events in smallest.items())
        self._claims = tuple(BufferClaim(*each) for each in ranked[: self._rank])

    def _value(self) -> int | None:
        """This period's n-th smallest, or None while fewer than n peers were heard of."""
        return self._claims[-1].events if len(self._claims) >= self._rank else None

    def check_invariants(self) -> None:
        """The claims are ranked, bounded, and of different peers."""
        if len(self._claims) > self._rank:
            raise InvariantBroken("more buffers are remembered than the rank needs")
        if len({claim.origin for claim in self._claims}) != len(self._claims):
            raise InvariantBroken("one peer's buffer is remembered twice")
