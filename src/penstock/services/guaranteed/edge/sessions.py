"""What clients say about their subscriptions: subscribe, unsubscribe, consume, go away.

1. A session has each subscription name once.  A durable subscription has one reader: a session that
   subscribes to it takes it over, and the session before is closed with the reason.
2. A subscription that is not durable and loses its connection may come back: its positions stay
   claimed for a while (``claims``).
3. Ending a subscription unregisters its selector unless another subscriber has it too.  When the
   last subscriber is gone, all live streams end.
"""

from __future__ import annotations

from typing import Final

from penstock.content.matching.index import SelectorIndex
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse
from penstock.content.selectors.selector import Selector
from penstock.core.clock import Instant
from penstock.core.machine import CloseSession, Effect, LinkName, PersistFailed, Priority, Send
from penstock.services.guaranteed.edge.claims import EdgeClaims
from penstock.services.guaranteed.edge.connected import ConnectedSubscriptions
from penstock.services.guaranteed.edge.durable import DurableSubscriptions
from penstock.services.guaranteed.edge.in_force import InForce
from penstock.services.guaranteed.edge.live_streams import LiveStreams
from penstock.services.guaranteed.edge.past_readers import PastReaders
from penstock.services.guaranteed.edge.sources import EdgeSources, SourceView
from penstock.services.guaranteed.edge.stream_delivery import StreamDelivery
from penstock.services.guaranteed.edge.subscription import TAKEN_OVER, Subscription
from penstock.services.guaranteed.messages import (
    Consumed,
    Subscribe,
    SubscribeRefused,
    Unsubscribe,
    Unsubscribed,
)

MAX_PATTERNS: Final = 100
"""Patterns of one subscription: each is tried on every stream."""

MAX_PATTERN_CHARACTERS: Final = 256
"""More than a pubend's name may have."""


class SubscriberSessions:
    """The subscriptions of all sessions at one edge, from subscribing to their end."""

    def __init__(
        self,
        limit: int,
        *,
        connected: ConnectedSubscriptions,
        index: SelectorIndex,
        sources: EdgeSources,
        durable: DurableSubscriptions,
        claims: EdgeClaims,
        in_force: InForce,
        live: LiveStreams,
        past: PastReaders,
        delivery: StreamDelivery,
    ) -> None:
        """A session has at most ``limit`` subscriptions."""
        self._limit = limit
        self._connected = connected
        self._index = index
        self._sources = sources
        self._durable = durable
        self._claims = claims
        self._in_force = in_force
        self._live = live
        self._past = past
        self._delivery = delivery

    # -- subscribing ------------------------------------------------------------------------

    def subscribe(
        self, session: LinkName, message: Subscribe, now: Instant, out: list[Effect]
    ) -> None:
        """A client wants a subscription, new or resumed."""
        try:
            selector = parse(message.selector)
        except SelectorError as error:
            self._refuse(session, message, f"selector: {error}", out)
            return
        objection = self._objection(session, message, selector)
        if objection:
            self._refuse(session, message, objection, out)
            return
        subscription = (
            self._durable.open(message, selector, now, out)
            if message.durable
            else self._transient(message, selector, now)
        )
        if subscription.session is not None:
            reason = f"subscription {subscription.name!r} was taken over by another connection"
            self.end(subscription, now, out, closing=reason)
        self._begin(subscription, session, message, now, out)

    def _transient(self, message: Subscribe, selector: Selector, now: Instant) -> Subscription:
        made = Subscription(self._durable.next_key(), message.subscription, selector)
        made.start, made.start_time = message.start, message.start_time
        made.made_at, made.since = message.since or now, message.since or None
        made.pubends = message.pubends
        return made

    def _objection(self, session: LinkName, message: Subscribe, selector: Selector) -> str:
        """Why a client cannot have this subscription; empty if it can."""
        mine = self._connected.of_session(session)
        if message.subscription in mine:
            return f"this connection already has a subscription named {message.subscription!r}"
        if len(mine) >= self._limit:
            return f"this connection already has {self._limit} subscriptions, the most allowed"
        if len(message.pubends) > MAX_PATTERNS or any(
            len(pattern) > MAX_PATTERN_CHARACTERS for pattern in message.pubends
        ):
            return (
                f"at most {MAX_PATTERNS} patterns of at most {MAX_PATTERN_CHARACTERS} characters "
                "say which pubends to read; use a shorter pattern with *"
            )
        if message.durable and message.ends:
            return "a durable subscription has no end; read an interval without making it durable"
        return self._durable.refusal(message, selector) if message.durable else ""

    def _refuse(
        self, session: LinkName, message: Subscribe, reason: str, out: list[Effect]
    ) -> None:
        refusal = SubscribeRefused(message.subscription, reason)
        out.append(Send(session, refusal, Priority.CONTROL))

    def _begin(
        self,
        subscription: Subscription,
        session: LinkName,
        message: Subscribe,
        now: Instant,
        out: list[Effect],
    ) -> None:
        subscription.connect(session, message.window_bytes)
        subscription.ends = message.ends
        subscription.resume(message.positions, same_reader=message.since > 0)
        self._connected.add(subscription, session)
        self._in_force.begin(subscription)
        if not subscription.ends:
            self._index.add(subscription.key, subscription.selector)
        selector = subscription.wanted
        is_first = self._sources.want(selector)
        for view in self._sources:
            if is_first:
                out += view.register(selector)
                self._in_force.await_confirmation(subscription, view)
            elif view.is_confirmed:
                self._attach(subscription, view, now, out)
            else:
                self._in_force.await_confirmation(subscription, view)
        self._in_force.announce(subscription, now, out)

    def _attach(
        self, subscription: Subscription, view: SourceView, now: Instant, out: list[Effect]
    ) -> None:
        self._delivery.attach(subscription, view, now, out)
        if subscription.durable:
            self._durable.changed(subscription, now)

    def source_confirmed(self, view: SourceView, now: Instant, out: list[Effect]) -> None:
        """Attach the subscriptions that waited for this source's confirmation."""
        for key in self._in_force.source_confirmed(view):
            subscription = self._connected.by_key[key]
            self._attach(subscription, view, now, out)
            self._in_force.announce(subscription, now, out)

    # -- consuming --------------------------------------------------------------------------

    def consumed(
        self, session: LinkName, message: Consumed, now: Instant, out: list[Effect]
    ) -> None:
        """A client has processed everything below these ticks."""
        subscription = self._connected.find(session, message.subscription)
        if subscription is not None:
            subscription.consume(message.ticks)
            if subscription.durable:
                self._durable.changed(subscription, now)

    # -- ending -----------------------------------------------------------------------------

    def unsubscribe(
        self, session: LinkName, message: Unsubscribe, now: Instant, out: list[Effect]
    ) -> None:
        """A client ends a subscription."""
        subscription = self._connected.find(session, message.subscription)
        if subscription is not None:
            self.end(subscription, now, out)
        if message.forget:
            self._delete(session, message.subscription, now, out)
        else:
            out.append(Send(session, Unsubscribed(message.subscription), Priority.CONTROL))

    def _delete(self, session: LinkName, name: str, now: Instant, out: list[Effect]) -> None:
        """Delete a durable subscription; the client is told when the deletion is saved."""
        found = self._durable.get(name)
        if found is not None and found.session is not None:
            refusal = SubscribeRefused(name, "it was deleted by another connection")
            out.append(Send(found.session, refusal, Priority.CONTROL))
            self.end(found, now, out)
        if not self._durable.forget(name, session, out):
            out.append(Send(session, Unsubscribed(name), Priority.CONTROL))

    def session_closed(self, session: LinkName, now: Instant, out: list[Effect]) -> None:
        """A client's connection is gone, with all its subscriptions."""
        for subscription in list(self._connected.of_session(session).values()):
            if not subscription.durable and not subscription.ends:
                horizons = self._sources.horizons_of(subscription)
                self._claims.subscriber_left({**subscription.positions, **horizons}, now)
            self.end(subscription, now, out)

    def end(
        self, subscription: Subscription, now: Instant, out: list[Effect], closing: str = ""
    ) -> None:
        """Disconnect a subscription's reader; ``closing`` closes its session with this reason."""
        session = subscription.session
        assert session is not None
        self._connected.remove(subscription, session)
        self._in_force.end(subscription)
        self._past.leave(subscription)
        subscription.settle(self._sources.horizons_of(subscription))
        subscription.disconnect()
        self._claims.forget(subscription.key)
        if subscription.durable:
            self._durable.left(subscription, now)
        if not subscription.ends:
            self._index.remove(subscription.key)
        self._sources.unwant(subscription.wanted, out)
        if self._sources.is_idle:
            self._live.forget_all()
        if closing:
            out.append(CloseSession(session, closing, TAKEN_OVER, subscription.name))

    # -- the store's answers ----------------------------------------------------------------

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """A change of durable subscriptions is saved, or was refused."""
        deleted = self._durable.deleted(token)
        if deleted is not None:
            session, name = deleted
            reply = Unsubscribed(name)
            if failure:
                problem = f"it could not be deleted: {failure.reason}"
                reply = Unsubscribed(name, problem, failure.uncertain)
            out.append(Send(session, reply, Priority.CONTROL))
            self._claims.state_all(now, out)
        for subscription in self._durable.resolved(token, failure):
            if subscription.session is None:
                continue
            if failure:
                reason = f"it could not be saved: {failure.reason}"
                refusal = SubscribeRefused(subscription.name, reason, failure.uncertain)
                out.append(Send(subscription.session, refusal, Priority.CONTROL))
                self.end(subscription, now, out)
            else:
                self._in_force.announce(subscription, now, out)
