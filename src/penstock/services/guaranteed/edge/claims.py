"""The claims of an edge on the logs of the sources, stated to each source.

1. The edge claims for its connected subscribers (live claims), and for what outlives a connection:
   durable subscriptions and cursors, connected or not (durable claims).
2. A subscriber that is not durable and loses its connection may come back: its positions are
   claimed for a while.
3. A durable subscription claims every stream that it reads.  On a stream without a position,
   because the pubend is new, it claims from the tick at which it will start there.
4. A new durable subscription or cursor is confirmed to its client when every source that it reads
   has saved the claim.  Before that, what is published could be trimmed while the edge is away.
5. An edge without claims on a source says so until the source has confirmed it, and then sends no
   more statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, Priority, Send
from penstock.services.guaranteed.edge.cursors import Cursors
from penstock.services.guaranteed.edge.durable import DurableSubscriptions
from penstock.services.guaranteed.edge.sources import EdgeSources, SourceView
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.links import LOCAL_RELAY
from penstock.services.guaranteed.messages import Acknowledgement, ClaimsSaved, DurableClaim

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
        sources: EdgeSources,
        *,
        return_within: Duration,
    ) -> None:
        """``epoch`` tells this start of the edge from earlier ones.

        A subscriber that is not durable may come back within ``return_within``.
        """
        self._broker = broker
        self._return_within = return_within
        self._left: dict[str, tuple[Tick, Instant]] = {}
        """For each stream the lowest position of subscribers that left, and when its claim ends."""
        self._epoch = epoch
        self._durable = durable
        self._cursors = cursors
        self._sources = sources
        self._new_cursors: dict[str, list[Send]] = {}
        """The confirmations to send when the sources have saved a new cursor's claim."""
        self._number = 0
        self._awaited: dict[Holder, dict[str, int]] = {}
        """For each new holder: the number of the statement that each source has yet to save."""
        self._last_claim: dict[str, int] = {}
        """For each source the number of the last statement that claimed anything."""
        self._released: dict[str, None] = {}
        """The sources that have confirmed that nothing is claimed."""

    def source_started(self, root: str) -> None:
        """A source is new or was restarted: it may remember claims of the past."""
        self._released.pop(root, None)

    def subscriber_left(self, positions: Mapping[str, Tick], now: Instant) -> None:
        """A subscriber that is not durable lost its connection at these positions."""
        for pubend, tick in positions.items():
            lowest, _ = self._left.get(pubend, (tick, now))
            self._left[pubend] = (min(lowest, tick), now + self._return_within)

    def state_all(self, now: Instant, out: list[Effect]) -> None:
        """State the claims to every source."""
        for view in self._sources:
            self._state(view, now, out)

    def _state(self, view: SourceView, now: Instant, out: list[Effect]) -> None:
        """State the claims to a source, unless it has confirmed that there are none."""
        live, durable = view.standing, {}
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
            return
        else:
            confirm = True
        statement = Acknowledgement(
            view.root, self._broker, self._epoch, self._number, live, durable, confirm
        )
        out.append(Send(LOCAL_RELAY, statement, Priority.CONTROL))

    def _durable_claim(self, pubend: str, now: Instant) -> DurableClaim | None:
        claims = (self._durable.lowest(pubend, now), self._cursors.lowest(pubend, now))
        made = [claim for claim in claims if claim is not None]
        return min(made, key=lambda claim: claim.tick, default=None)

    def subscription_made(
        self, subscription: Subscription, now: Instant, out: list[Effect]
    ) -> bool:
        """Have the sources save a new subscription's claim; False if it reads none of them."""
        views = [view for view in self._sources if any(map(subscription.reads, view.pubends))]
        self._await_saved(subscription.key, views, now, out)
        return bool(views)

    def cursor_moved(
        self, confirmation: Send, fresh: tuple[str, ...], now: Instant, out: list[Effect]
    ) -> None:
        """A cursor is saved here; a new one is confirmed when the sources have saved its claim."""
        name = confirmation.message.cursor
        views = [view for view in self._sources if not set(fresh).isdisjoint(view.pubends)]
        if views:
            self._new_cursors.setdefault(name, []).append(confirmation)
            self._await_saved(name, views, now, out)
            return
        if not confirmation.message.ticks:
            # It was deleted: confirmations that wait for its claim are sent now.
            self.forget(name)
            out += self._new_cursors.pop(name, [])
            self.state_all(now, out)
        out.append(confirmation)

    def _await_saved(
        self, holder: Holder, views: list[SourceView], now: Instant, out: list[Effect]
    ) -> None:
        awaited = self._awaited.setdefault(holder, {})
        for view in views:
            awaited.setdefault(view.root, self._number + 1)
        for view in views:
            self._state(view, now, out)

    def saved(self, message: ClaimsSaved, out: list[Effect]) -> list[int]:
        """A source has saved claims; returns the subscriptions that wait for no source any more."""
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
            if isinstance(holder, str):
                out += self._new_cursors.pop(holder)
        return [holder for holder in fulfilled if isinstance(holder, int)]

    def forget(self, holder: Holder) -> None:
        """Do not wait for a holder's claims any more."""
        self._awaited.pop(holder, None)
