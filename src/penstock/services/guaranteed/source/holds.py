"""The claims of edges on one pubend's log.

1. An edge broker claims a log in two ways.  A *live* claim is the lowest position of its connected
   subscribers and of those that just lost their connection.  It expires when the edge has sent no
   statement for a while; what the edge needs after that is either still retained or told as lost.
2. A *durable* claim is for durable subscriptions and cursors, connected or not.  It is saved, and
   stays until the edge releases it, through crashes of either side.
3. An edge that crashed does not know what its subscribers needed before: the live claim of its
   earlier start expires by itself.
4. Nothing at or above the lowest claim is trimmed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Tick
from penstock.services.guaranteed.messages import DurableClaim

MAX_EDGES: Final = 100_000
"""How many edges may claim one log: more than an overlay has brokers."""

UNNAMED: Final = "durable subscriptions"
"""The holder of a claim that was saved before claims had one."""


class Holds:
    """The claims of all edges on one pubend's log."""

    def __init__(self) -> None:
        self._live: dict[tuple[str, int], tuple[Tick, Instant]] = {}
        self._durable: dict[str, DurableClaim] = {}

    def claim_live(self, edge: str, epoch: int, tick: Tick | None, now: Instant) -> None:
        """Set or release (None) an edge's live claim; ``epoch`` is the edge's start."""
        key = (edge, epoch)
        if tick is None:
            self._live.pop(key, None)
        elif key in self._live or len(self._live) < MAX_EDGES:
            self._live[key] = (tick, now)

    def claim_durable(self, edge: str, claim: DurableClaim | None) -> bool:
        """Set or release (None) an edge's durable claim; False if there are too many."""
        if claim is None:
            self._durable.pop(edge, None)
        elif edge in self._durable or len(self._durable) < MAX_EDGES:
            self._durable[edge] = claim
        else:
            return False
        return True

    def durable_of(self, edge: str) -> DurableClaim | None:
        """An edge's durable claim, if it has one."""
        return self._durable.get(edge)

    def lowest(self, now: Instant, expiry: Duration, default: Tick) -> Tick:
        """The lowest claimed tick, or ``default``; drops live claims older than ``expiry``."""
        expired = [key for key, (_, heard_at) in self._live.items() if now - heard_at > expiry]
        for key in expired:
            del self._live[key]
        return min(self._ticks(), default=default)

    def _ticks(self) -> Iterator[Tick]:
        yield from (tick for tick, _ in self._live.values())
        yield from (claim.tick for claim in self._durable.values())

    def describe_lowest(self) -> str:
        """The holder of the lowest claim, as a sentence for an error message."""
        durable = min(self._durable.items(), key=lambda item: item[1].tick, default=None)
        live = min(self._live.items(), key=lambda item: item[1][0], default=None)
        if durable is not None and (live is None or durable[1].tick <= live[1][0]):
            edge, claim = durable
            return (
                f"{claim.holder} at broker {edge!r} has consumed only up to tick {claim.tick}; let "
                "it read on, or delete it if it is not needed any more"
            )
        if live is not None:
            (edge, _), (tick, _) = live
            return f"subscriptions at broker {edge!r} have consumed only up to tick {tick}"
        return "nothing holds it; it is within its retention"

    def durable(self) -> dict[str, DurableClaim]:
        """The durable claims by edge."""
        return dict(self._durable)

    def save(self) -> bytes:
        """The durable claims as bytes."""
        kept = {edge: (claim.tick, claim.holder) for edge, claim in sorted(self._durable.items())}
        return msgspec.msgpack.encode(kept)

    def load(self, data: bytes) -> None:
        """Load saved claims; a bare tick was saved before claims named their holder."""
        saved = msgspec.msgpack.decode(data, type=dict[str, int | tuple[int, str]])
        for edge, claim in saved.items():
            tick, holder = (claim, UNNAMED) if isinstance(claim, int) else claim
            self._durable[edge] = DurableClaim(tick, holder)
