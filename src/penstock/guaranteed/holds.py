"""Who still needs a pubend's log, and from where on.

1. An edge broker's last acknowledgement is its hold: nothing at or above it is trimmed.
2. The hold of an edge with durable subscriptions stays until that edge says otherwise, through
   crashes of either side: it is saved.
3. Any other hold expires when the edge has been silent for a while; what it missed then is found
   within the time for which the log is kept anyway, or told as lost.
"""

from __future__ import annotations

import msgspec

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Tick


class Hold(msgspec.Struct, frozen=True):
    """One edge's claim on one pubend's log."""

    tick: Tick
    durable: bool
    heard_at: Instant


class Holds:
    """The claims of all edges on one pubend's log."""

    def __init__(self) -> None:
        """Nobody needs anything at first."""
        self._by_edge: dict[str, Hold] = {}

    def acknowledge(self, edge: str, tick: Tick, durable: bool, now: Instant) -> bool:
        """Move an edge's hold; True if what must survive a crash has changed."""
        before = self._by_edge.get(edge)
        self._by_edge[edge] = Hold(tick, durable, now)
        if before is None or before.durable != durable:
            return durable or before is not None
        return durable and before.tick != tick

    def lowest(self, now: Instant, expiry: Duration, default: Tick) -> Tick:
        """Below this tick nobody needs anything."""
        expired = [
            edge
            for edge, hold in self._by_edge.items()
            if not hold.durable and now - hold.heard_at > expiry
        ]
        for edge in expired:
            del self._by_edge[edge]
        return min((hold.tick for hold in self._by_edge.values()), default=default)

    def describe_lowest(self) -> str:
        """Who is to blame that the log cannot be trimmed, for an error message."""
        if not self._by_edge:
            return "nothing holds it; it is within its retention"
        edge, hold = min(self._by_edge.items(), key=lambda item: item[1].tick)
        kind = "durable subscriptions" if hold.durable else "subscriptions"
        return f"{kind} at broker {edge!r} have consumed only up to tick {hold.tick}"

    def save(self) -> bytes:
        """The holds that must survive a crash."""
        kept = {edge: hold.tick for edge, hold in self._by_edge.items() if hold.durable}
        return msgspec.msgpack.encode(kept)

    def load(self, data: bytes, now: Instant) -> None:
        """Take saved holds over."""
        for edge, tick in msgspec.msgpack.decode(data, type=dict[str, int]).items():
            self._by_edge[edge] = Hold(tick, True, now)
