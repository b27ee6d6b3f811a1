"""The edge: where streams are assembled and delivered to subscribers.

It owns the parts of the subscriber-hosting side of one broker:

- ``sources``: the sources in the overlay, and the selectors registered with them;
- ``live_streams`` and ``past_readers``: the streams, their requests and their recovery;
- ``stream_delivery``: which subscriber gets which frames;
- ``sessions`` and ``in_force``: what clients say about subscriptions, and when one is in force;
- ``durable``, ``cursors`` and ``claims``: what survives a restart, and what the sources must keep.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.content.matching.index import SelectorIndex
from penstock.core.clock import Duration, Instant, earliest
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, LinkName, PersistFailed
from penstock.core.tokens import Tokens
from penstock.core.trees import Tree
from penstock.services.guaranteed.dispatch import Handlers
from penstock.services.guaranteed.edge.claims import EdgeClaims
from penstock.services.guaranteed.edge.congestion_control import EdgeControl
from penstock.services.guaranteed.edge.connected import ConnectedSubscriptions
from penstock.services.guaranteed.edge.cursors import Cursors, CursorState
from penstock.services.guaranteed.edge.durable import DurableSubscriptions
from penstock.services.guaranteed.edge.in_force import InForce
from penstock.services.guaranteed.edge.live_streams import LiveStreams
from penstock.services.guaranteed.edge.past_readers import PastReaders
from penstock.services.guaranteed.edge.sessions import SubscriberSessions
from penstock.services.guaranteed.edge.sources import EdgeSources
from penstock.services.guaranteed.edge.stream_delivery import StreamDelivery
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.laws.nack_windows import NackWindows
from penstock.services.guaranteed.messages import (
    ClaimsSaved,
    Consumed,
    DownstreamCongestionQuery,
    Knowledge,
    MoveCursor,
    StreamBounds,
    Subscribe,
    SubscriptionConfirmed,
    Taken,
    Unsubscribe,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters


class Edge:
    """The subscriber-hosting side of one broker."""

    def __init__(
        self,
        broker: str,
        parameters: GuaranteedParameters,
        tokens: Tokens,
        saved: Mapping[str, bytes],
        now: Instant,
    ) -> None:
        """``saved`` is the state that was found; ``broker`` the name that claims logs."""
        self._acknowledge_interval_ns = parameters.acknowledge_interval_ns
        self._acknowledge_at: Instant = now + parameters.acknowledge_interval_ns
        self._sources = EdgeSources()
        self._connected = ConnectedSubscriptions()
        self._durable = DurableSubscriptions(parameters, tokens, saved, now)
        self._cursors = Cursors(
            parameters.durable_subscriptions, tokens, saved, holds_ns=parameters.cursor_holds_ns
        )
        self._claims = EdgeClaims(
            broker,
            now,
            self._durable,
            self._cursors,
            self._sources,
            return_within=parameters.hold_expiry_ns,
        )
        index, windows = SelectorIndex(), NackWindows(parameters)
        self._live = LiveStreams(broker, parameters, windows, self._sources)
        self._past = PastReaders(parameters, windows, index, self._sources)
        self._in_force = InForce(self._sources, self._durable, self._claims)
        delivery = StreamDelivery(
            broker,
            parameters,
            connected=self._connected,
            index=index,
            sources=self._sources,
            live=self._live,
            past=self._past,
        )
        self._sessions = SubscriberSessions(
            parameters.subscriptions_per_session,
            connected=self._connected,
            index=index,
            sources=self._sources,
            durable=self._durable,
            claims=self._claims,
            in_force=self._in_force,
            live=self._live,
            past=self._past,
            delivery=delivery,
        )
        self.handlers: Handlers = {
            Subscribe: self._sessions.subscribe,
            Unsubscribe: self._sessions.unsubscribe,
            Consumed: self._sessions.consumed,
            Taken: delivery.taken,
            MoveCursor: self._cursors.move,
        }
        """For messages of clients."""
        self.relay_handlers: Handlers = {
            Knowledge: delivery.knowledge,
            DownstreamCongestionQuery: self._live.query,
            SubscriptionConfirmed: self.confirmed,
        }
        """For messages of this broker's relays."""

    def clock_measured(self, ahead_ns: Duration) -> None:
        """The instants that this machine is told are ahead of the time of day by ``ahead_ns``."""
        self._in_force.clock_ahead_ns = ahead_ns

    # -- the overlay and the sources --------------------------------------------------------

    def trees_changed(self, trees: Mapping[str, Tree], out: list[Effect]) -> None:
        """Register with sources that are new, were restarted or have other trees."""
        for view in self._sources.trees_changed(trees, out):
            self._claims.source_started(view.root)
            self._in_force.source_started(view)

    def overlay_settled(self, now: Instant, out: list[Effect]) -> None:
        """The broker knows the overlay as well as it is going to."""
        self._in_force.overlay_settled(self._connected, now, out)

    def path_changed(self, tree: Tree, now: Instant, out: list[Effect]) -> None:
        """The way to a source has changed in a tree: requests in flight are lost."""
        view = self._sources.get(tree.root)
        if view is not None:
            for pubend in tree.pubends:
                if pubend in view.streams:
                    self._live.path_changed(view.streams[pubend], now, out)
                    self._past.path_changed(pubend, now, out)

    def confirmed(
        self, link: LinkName, message: SubscriptionConfirmed, now: Instant, out: list[Effect]
    ) -> None:
        """A source has confirmed what this edge registered."""
        view = self._sources.of_tree(message.tree)
        if view is None or self._sources.is_idle:
            return
        view.confirm(message)
        self._live.confirmed(view, message, now, out)
        self._sessions.source_confirmed(view, now, out)

    def claims_saved(self, message: ClaimsSaved, now: Instant, out: list[Effect]) -> None:
        """A source has saved what this edge claims of its logs."""
        for key in self._claims.saved(message, out):
            subscription = self._connected.get(key)
            if subscription is not None:
                self._durable.claims_saved(subscription, now)
                self._in_force.announce(subscription, now, out)

    # -- clients and the store --------------------------------------------------------------

    def session_closed(self, session: LinkName, now: Instant, out: list[Effect]) -> None:
        """A client's connection is gone, with all its subscriptions."""
        self._sessions.session_closed(session, now, out)

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """A change of durable subscriptions is saved, or was refused."""
        self._sessions.resolved(token, failure, now, out)

    def cursor_resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """A cursor is saved, or was refused; a new one must be claimed before it is confirmed."""
        moved = self._cursors.resolved(token, failure, out)
        if moved is not None:
            self._claims.cursor_moved(*moved, now, out)

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Repeat requests, state claims, save positions."""
        self._live.deadline(now, out)
        self._past.deadline(now, out)
        if now >= self._acknowledge_at:
            self._acknowledge_at = now + self._acknowledge_interval_ns
            for subscription in self._connected:
                subscription.settle(self._sources.horizons_of(subscription))
                if subscription.durable:
                    self._durable.changed(subscription, now)
            self._claims.state_all(now, out)
        self._durable.save_if_due(now, out)

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        return earliest(
            self._live.next_deadline(),
            self._past.next_deadline(),
            self._acknowledge_at,
            self._durable.save_at,
        )

    # -- looking in -------------------------------------------------------------------------

    @property
    def controls(self) -> Mapping[str, EdgeControl]:
        """The congestion control of each live stream."""
        return self._live.controls

    def horizons(self) -> dict[str, Tick]:
        """The doubt horizon of each live stream."""
        return self._sources.horizons()

    def streams(self) -> dict[str, StreamBounds]:
        """What can be read of each stream, as far as this edge knows."""
        return self._sources.bounds()

    def has(self, session: LinkName, name: str) -> bool:
        """Whether a session is connected to a subscription of this name."""
        return self._connected.find(session, name) is not None

    def subscriptions(self) -> list[Subscription]:
        """The connected subscriptions."""
        return list(self._connected)

    def cursor(self, name: str) -> CursorState | None:
        """The cursor of a name."""
        return self._cursors.state(name)

    def durable_subscriptions(self) -> list[Subscription]:
        """Every durable subscription, with a reader or without."""
        return self._durable.all()

    def durable_subscription(self, name: str) -> Subscription | None:
        """The durable subscription of a name."""
        return self._durable.get(name)

    def holds_logs(self, subscription: Subscription, now: Instant) -> bool:
        """Whether a durable subscription still keeps the logs."""
        return self._durable.holds(subscription, now)

    def check_invariants(self) -> None:
        """Every stream is possible, and no subscriber is live and catching up at once."""
        self._live.check_invariants()
        self._past.check_invariants()
        for subscription in self._connected:
            subscription.check_invariants()
