"""What an edge claims of the sources' logs, stated to each source.

1. The edge speaks for its connected subscribers (live claims) and for everything that outlives a
   connection: durable subscriptions and cursors, present or absent (durable claims).
2. A subscriber that is not durable and loses its connection may come back: where it stood is
   claimed for a while.
3. A durable subscription claims every stream that it reads.  On one that it has no position on yet,
   because the pubend is new, it claims from where it will start there.
4. A new durable subscription or cursor is confirmed to its client when every source that it reads
   has saved the claim.  Before that, what is published could be trimmed while the edge is away.
5. A source that knows of no claim is left in peace: an edge that needs nothing says so until the
   source has confirmed it, and then no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Tick
from penstock.guaranteed.cursors import Cursors
from penstock.guaranteed.durable import DurableSubscriptions
from penstock.guaranteed.messages import Acknowledgement, ClaimsSaved, DurableClaim
from penstock.guaranteed.sources import SourceView

Holder: TypeAlias = int | str
"""The key of a subscription, or the name of a cursor."""


class EdgeClaims:
    """The statements of one edge, and which of them the sources have saved."""

    def __init__(
        self,
        broker: str,
        epoch: int,
        durable: DurableSubscriptions,
        cursors: Cursors,
        *,
        return_within: Duration,
    ) -> None:
        """``epoch`` tells this start of the edge from earlier ones.

        A subscriber without a durable position may come back within ``return_within``.
        """
        self._broker = broker
        self._return_within = return_within
        self._left: dict[str, tuple[Tick, Instant]] = {}
        """For each stream where subscribers stood that left, and until when it is claimed."""
        self._epoch = epoch
        self._durable = durable
        self._cursors = cursors
        self._number = 0
        self._awaited: dict[Holder, dict[str, int]] = {}
        """For each holder that is new: the statement that each source has yet to save."""
        self._last_claim: dict[str, int] = {}
        """For each source the number of the last statement that claimed anything."""
        self._released: dict[str, None] = {}
        """The sources that know that nothing is claimed."""

    def source_started(self, root: str) -> None:
        """A source is new or was started anew: it may remember claims of the past."""
        self._released.pop(root, None)

    def subscriber_left(self, positions: Mapping[str, Tick], now: Instant) -> None:
        """A subscriber that is not durable lost its connection where it stood."""
        for pubend, tick in positions.items():
            lowest, _ = self._left.get(pubend, (tick, now))
            self._left[pubend] = (min(lowest, tick), now + self._return_within)

    def statement(
        self, view: SourceView, connected: Mapping[str, Tick], now: Instant
    ) -> Acknowledgement | None:
        """What to tell a source now; None if it knows already that nothing is claimed.

        ``connected`` is where the connected subscribers stand.
        """
        live, durable = dict(connected), {}
        for pubend in view.pubends:
            if pubend in self._left:
                tick, until = self._left[pubend]
                if now < until:
                    live[pubend] = min(tick, live.get(pubend, tick))
                else:
                    del self._left[pubend]
            claim = self._durable_claim(pubend, now)
            if claim is not None:
                durable[pubend] = claim
        self._number += 1
        if live or durable:
            self._last_claim[view.root] = self._number
            self._released.pop(view.root, None)
            confirm = any(view.root in roots for roots in self._awaited.values())
        elif view.root in self._released:
            return None
        else:
            confirm = True
        return Acknowledgement(
            view.root, self._broker, self._epoch, self._number, live, durable, confirm
        )

    def _durable_claim(self, pubend: str, now: Instant) -> DurableClaim | None:
        claims = (self._durable.lowest(pubend, now), self._cursors.lowest(pubend, now))
        made = [claim for claim in claims if claim is not None]
        return min(made, key=lambda claim: claim.tick, default=None)

    def await_saved(self, holder: Holder, roots: Iterable[str]) -> None:
        """A new holder is confirmed when these sources have saved the next statement."""
        awaited = self._awaited.setdefault(holder, {})
        for root in roots:
            awaited.setdefault(root, self._number + 1)

    def saved(self, message: ClaimsSaved) -> list[Holder]:
        """A source's word; returns the holders that wait for no source any more."""
        if message.epoch != self._epoch:
            return []
        if message.number > self._last_claim.get(message.root, 0):
            self._released[message.root] = None
        for awaited in self._awaited.values():
            if awaited.get(message.root, message.number + 1) <= message.number:
                del awaited[message.root]
        fulfilled = [holder for holder, awaited in self._awaited.items() if not awaited]
        for holder in fulfilled:
            del self._awaited[holder]
        return fulfilled

    def forget(self, holder: Holder) -> None:
        """Nobody waits for a holder's claims any more."""
        self._awaited.pop(holder, None)
