"""When a subscription is in force, which its client is then told (``Subscribed``).

A subscription is in force when all of these hold:

1. The broker knows the overlay.  Before that a source might exist that the edge has not registered
   with.
2. A durable subscription is saved, and so is where it starts.
3. Every source has confirmed its selector.
4. Every source that a new durable subscription reads has saved its claim on the log.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.clock import Duration, Instant
from penstock.core.clock_skew import ahead_of
from penstock.core.machine import Effect, Priority, Send
from penstock.services.guaranteed.edge.claims import EdgeClaims
from penstock.services.guaranteed.edge.durable import DurableSubscriptions
from penstock.services.guaranteed.edge.sources import EdgeSources, SourceView
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.messages import Subscribed


class InForce:
    """What each connected subscription still waits for."""

    def __init__(
        self, sources: EdgeSources, durable: DurableSubscriptions, claims: EdgeClaims
    ) -> None:
        self.clock_ahead_ns: Duration = 0
        """By how much the instants that this machine is told are ahead of the time of day."""
        self._sources = sources
        self._durable = durable
        self._claims = claims
        self._overlay_settled = False
        self._awaited: dict[int, dict[str, int]] = {}
        """For each subscription: the version that each source has yet to confirm."""

    def overlay_settled(
        self, connected: Iterable[Subscription], now: Instant, out: list[Effect]
    ) -> None:
        """The broker knows the overlay as well as it is going to."""
        self._overlay_settled = True
        for subscription in connected:
            self.announce(subscription, now, out)

    def begin(self, subscription: Subscription) -> None:
        self._awaited[subscription.key] = {}

    def end(self, subscription: Subscription) -> None:
        del self._awaited[subscription.key]

    def await_confirmation(self, subscription: Subscription, view: SourceView) -> None:
        """A subscription waits until a source has confirmed what is registered now."""
        self._awaited[subscription.key][view.root] = view.version

    def source_started(self, view: SourceView) -> None:
        """Every subscription waits for a source that is new or was restarted."""
        for awaited in self._awaited.values():
            awaited[view.root] = view.version

    def source_confirmed(self, view: SourceView) -> list[int]:
        """The keys of the subscriptions that wait for this source no more."""
        fulfilled = []
        for key, awaited in self._awaited.items():
            version = awaited.get(view.root)
            if version is not None and version <= view.confirmed_version:
                del awaited[view.root]
                fulfilled.append(key)
        return fulfilled

    def announce(self, subscription: Subscription, now: Instant, out: list[Effect]) -> None:
        """Tell the client that its subscription is in force, if it is and was not announced."""
        if subscription.announced or subscription.session is None:
            return
        if not self._overlay_settled or not self._durable.is_saved(subscription):
            return
        if self._awaited[subscription.key]:
            return
        if not subscription.claimed and self._claims.subscription_made(subscription, now, out):
            return
        subscription.announced = True
        subscription.since = subscription.made_at
        ahead = {
            pubend: ahead_ns
            for pubend, end in self._sources.horizons().items()
            if pubend in subscription.started
            and (ahead_ns := ahead_of(now - self.clock_ahead_ns, end))
        }
        reply = Subscribed(
            subscription.name, dict(subscription.started), subscription.made_at, ahead
        )
        out.append(Send(subscription.session, reply, Priority.CONTROL))
