"""The edge: where streams are put together and handed to subscribers.

1. All connected subscribers share one live stream of each pubend, which starts where the first of
   them was confirmed and delivers in order to each of them the rows that match.
2. A subscriber that starts in the past has a stream of its own until it has caught up, and one that
   reads intervals has nothing else (penstock.services.guaranteed.edge.past_readers).
3. A reader that reads too slowly leaves the live stream and goes on by one of its own, at its own
   pace.  It costs neither the network its pace nor its client the connection.

What survives a restart is in penstock.services.guaranteed.edge.durable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from penstock.content.matching.index import SelectorIndex
from penstock.content.rows.frame import Frame
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse
from penstock.content.selectors.selector import Selector
from penstock.core.clock import NEVER, Duration, Instant, earliest
from penstock.core.clock_skew import ahead_of
from penstock.core.intervals import Tick
from penstock.core.machine import CloseSession, Effect, LinkName, PersistFailed, Priority, Send
from penstock.core.tokens import Tokens
from penstock.core.trees import Tree
from penstock.services.guaranteed.edge.claims import EdgeClaims
from penstock.services.guaranteed.edge.congestion_control import EdgeControl
from penstock.services.guaranteed.edge.cursors import Cursors
from penstock.services.guaranteed.edge.durable import DurableSubscriptions
from penstock.services.guaranteed.edge.past_readers import PastReaders
from penstock.services.guaranteed.edge.requests import EdgeRequests
from penstock.services.guaranteed.edge.sources import SourceView
from penstock.services.guaranteed.edge.starting import first_tick
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.edge.subscription import TAKEN_OVER, Subscription
from penstock.services.guaranteed.laws.nack_window import (
    FixedNackWindow,
    NackWindow,
    RecoveryNackWindow,
)
from penstock.services.guaranteed.links import LOCAL_RELAY
from penstock.services.guaranteed.messages import (
    LIVE_FILTER,
    ClaimsSaved,
    Consumed,
    DownstreamCongestionQuery,
    Knowledge,
    StreamBounds,
    Subscribe,
    Subscribed,
    SubscribeRefused,
    SubscriptionConfirmed,
    Taken,
    Unsubscribe,
    Unsubscribed,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters

MAX_PATTERNS: Final = 100
"""Patterns of one subscription: each is tried on every stream."""

MAX_PATTERN_CHARACTERS: Final = 256
"""More than a pubend's name may have."""


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
        """``saved`` is the state that was found; ``broker`` the name that acknowledges."""
        self._broker = broker
        self._parameters = parameters
        self._sources: dict[str, SourceView] = {}
        self._source_of: dict[str, SourceView] = {}
        self._durable = DurableSubscriptions(parameters, tokens, saved, now)
        self.cursors = Cursors(
            parameters.durable_subscriptions, tokens, saved, holds_ns=parameters.cursor_holds_ns
        )
        self._claims = EdgeClaims(
            broker,
            now,
            self._durable,
            self.cursors,
            self._sources,
            return_within=parameters.hold_expiry_ns,
        )
        self._by_session: dict[LinkName, dict[str, Subscription]] = {}
        self._by_key: dict[int, Subscription] = {}
        self._waiting: dict[int, dict[str, int]] = {}
        self._wanted: Counter[str] = Counter()
        self._index = SelectorIndex()
        self._requests = EdgeRequests()
        self._past = PastReaders(parameters, self._index, self._live_stream_of)
        self._overlay_settled = False
        self.clock_ahead_ns: Duration = 0
        self._controls: dict[str, EdgeControl] = {}
        self._sample_at: Instant | None = None
        self._acknowledge_at: Instant = now + parameters.acknowledge_interval_ns

    # -- sources ----------------------------------------------------------------------------

    def trees_changed(self, trees: Mapping[str, Tree], out: list[Effect]) -> None:
        """Register with sources that are new or were started anew, and claim their logs soon.

        A source that cannot be reached is not forgotten: its streams go on where they stopped.
        """
        for root, tree in trees.items():
            view = self._sources.get(root)
            if view is None:
                view = self._sources[root] = SourceView(tree, self._wanted)
            elif view.incarnation == tree.incarnation:
                continue
            view.incarnation, view.pubends = tree.incarnation, tree.pubends
            self._claims.source_started(root)
            if self._wanted:
                self._send(view.register_all(), out)
                view.restarted_version = view.version
                for waiting in self._waiting.values():
                    waiting[root] = view.version

    def overlay_settled(self, now: Instant, out: list[Effect]) -> None:
        """The broker knows the overlay now: subscriptions that wait for nothing else are in force.

        Before that a source might exist that nobody has registered with.
        """
        self._overlay_settled = True
        for subscription in self._by_key.values():
            self._announce(subscription, now, out)

    def path_changed(self, root: str, now: Instant, out: list[Effect]) -> None:
        """The way up is another one: what was asked for is not under way any more."""
        view = self._sources.get(root)
        if view is not None:
            for stream in view.streams.values():
                stream.forget_requests()
                self._requests.ask(stream, now, out)
            for pubend in view.streams:
                self._past.path_changed(pubend, now, out)

    def _streams(self, view: SourceView) -> list[EdgeStream]:
        streams = list(view.streams.values())
        for pubend in view.streams:
            streams += self._past.streams(pubend)
        return streams

    def confirmed(self, message: SubscriptionConfirmed, now: Instant, out: list[Effect]) -> None:
        """A source's word: from these ticks on the live stream is complete."""
        view = self._sources.get(message.root)
        if view is None or not self._wanted:
            return
        view.confirm(message)
        for pubend, tick in sorted(message.ticks.items()):
            self._source_of[pubend] = view
            if pubend not in view.streams:
                view.streams[pubend] = self._live_stream(pubend, tick, now)
            elif view.has_restarted:
                self._ends_at_least(view.streams[pubend], tick, now, out)
        if view.has_restarted:
            view.restarted_version = None
        for key in list(self._waiting):
            needed = self._waiting[key].get(message.root)
            if needed is not None and needed <= view.confirmed_version:
                del self._waiting[key][message.root]
                self._attach(self._by_key[key], view, now, out)
                self._announce(self._by_key[key], now, out)

    def _ends_at_least(
        self, stream: EdgeStream, tick: Tick, now: Instant, out: list[Effect]
    ) -> None:
        """A source that was started anew has published up to here, and may say nothing more.

        Nothing of its life before is under way any more: what is not known is missing.
        """
        stream.highest = max(stream.highest, tick)
        self._requests.ask(stream, now, out)

    def _live_stream_of(self, pubend: str) -> EdgeStream:
        return self._source_of[pubend].streams[pubend]

    def _live_stream(self, pubend: str, start: Tick, now: Instant) -> EdgeStream:
        parameters = self._parameters
        window: NackWindow
        if parameters.congestion.sdcc:
            window = RecoveryNackWindow(
                parameters.congestion,
                unit=parameters.nack_unit_ns,
                largest=parameters.receive_window_ns,
            )
        else:
            window = FixedNackWindow(parameters.receive_window_ns)
        stream = EdgeStream(
            pubend,
            LIVE_FILTER,
            start,
            window,
            parameters,
            receive_window=parameters.receive_window_ns,
        )
        self._controls[pubend] = EdgeControl(
            self._broker,
            stream,
            parameters.congestion,
            silence_interval_ns=parameters.silence_interval_ns,
            now=now,
        )
        if self._sample_at is None:
            self._sample_at = now
        return stream

    def query(self, query: DownstreamCongestionQuery, out: list[Effect]) -> None:
        """A pubend asks whether this edge keeps up."""
        view = self._source_of.get(query.pubend)
        if view is not None:
            view.earliest[query.pubend] = max(
                query.earliest, view.earliest.get(query.pubend, query.earliest)
            )
        control = self._controls.get(query.pubend)
        if control is not None:
            alert = control.answer(query)
            if alert is not None:
                self._send(alert, out)

    # -- sessions ---------------------------------------------------------------------------

    def subscribe(
        self, session: LinkName, message: Subscribe, now: Instant, out: list[Effect]
    ) -> None:
        """A client wants a subscription, new or resumed."""
        sessions = self._by_session.setdefault(session, {})
        try:
            selector = parse(message.selector)
        except SelectorError as error:
            self._refuse(session, message, f"selector: {error}", out)
            return
        refusal = self._limits(sessions, message, selector)
        if refusal:
            self._refuse(session, message, refusal, out)
            return
        subscription = (
            self._durable.open(message, selector, now, out)
            if message.durable
            else self._transient(message, selector, now)
        )
        if subscription.session is not None:
            reason = f"subscription {subscription.name!r} was taken over by another connection"
            self._end(subscription, now, out, closing=reason)
        self._begin(subscription, session, message, now, out)

    def _transient(self, message: Subscribe, selector: Selector, now: Instant) -> Subscription:
        made = Subscription(self._durable.next_key(), message.subscription, selector)
        made.start, made.start_time = message.start, message.start_time
        made.made_at, made.since = message.since or now, message.since or None
        made.pubends = message.pubends
        return made

    def _limits(
        self, sessions: Mapping[str, Subscription], message: Subscribe, selector: Selector
    ) -> str:
        if message.subscription in sessions:
            return f"this connection already has a subscription named {message.subscription!r}"
        limit = self._parameters.subscriptions_per_session
        if len(sessions) >= limit:
            return f"this connection already has {limit} subscriptions, the most allowed"
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
        self._by_session.setdefault(session, {})[message.subscription] = subscription
        self._by_key[subscription.key] = subscription
        if not subscription.ends:
            self._index.add(subscription.key, subscription.selector)
        text = subscription.wanted
        self._wanted[text] += 1
        waiting = self._waiting[subscription.key] = {}
        for view in self._sources.values():
            if self._wanted[text] == 1:
                update = view.register_all() if not view.version else view.register(text)
                waiting[view.root] = view.version
                self._send(update, out)
            elif view.confirmed_version >= view.version:
                self._attach(subscription, view, now, out)
            else:
                waiting[view.root] = view.version
        self._announce(subscription, now, out)

    def _announce(self, subscription: Subscription, now: Instant, out: list[Effect]) -> None:
        """Tell the client that its subscription is in force, once it is everywhere."""
        if subscription.announced or subscription.session is None:
            return
        if not self._overlay_settled or not self._durable.is_saved(subscription):
            return
        if self._waiting[subscription.key]:
            return
        if not subscription.claimed and self._claims.subscription_made(subscription, now, out):
            return
        subscription.announced = True
        subscription.since = subscription.made_at
        ahead = {
            pubend: ahead_ns
            for pubend, end in self.horizons().items()
            if pubend in subscription.started
            and (ahead_ns := ahead_of(now - self.clock_ahead_ns, end))
        }
        reply = Subscribed(
            subscription.name, dict(subscription.started), subscription.made_at, ahead
        )
        out.append(Send(subscription.session, reply, Priority.CONTROL))

    def claims_saved(self, message: ClaimsSaved, now: Instant, out: list[Effect]) -> None:
        """A source has saved what this edge claims of its logs."""
        for key in self._claims.saved(message, out):
            subscription = self._by_key.get(key)
            if subscription is not None:
                self._durable.claims_saved(subscription, now)
                self._announce(subscription, now, out)

    def _refuse(
        self, session: LinkName, message: Subscribe, reason: str, out: list[Effect]
    ) -> None:
        refusal = SubscribeRefused(message.subscription, reason)
        out.append(Send(session, refusal, Priority.CONTROL))

    def has(self, session: LinkName, name: str) -> bool:
        """Whether a session is connected to a subscription of this name."""
        return name in self._by_session.get(session, {})

    def unsubscribe(
        self, session: LinkName, message: Unsubscribe, now: Instant, out: list[Effect]
    ) -> None:
        """A client ends a subscription."""
        subscription = self._by_session.get(session, {}).get(message.subscription)
        if subscription is not None:
            self._end(subscription, now, out)
        if message.forget:
            self._delete(session, message.subscription, now, out)
        else:
            out.append(Send(session, Unsubscribed(message.subscription), Priority.CONTROL))

    def _delete(self, session: LinkName, name: str, now: Instant, out: list[Effect]) -> None:
        """Delete a durable subscription; the client is told when it is gone for good."""
        found = self._durable.get(name)
        if found is not None and found.session is not None:
            refusal = SubscribeRefused(name, "it was deleted by another connection")
            out.append(Send(found.session, refusal, Priority.CONTROL))
            self._end(found, now, out)
        if not self._durable.forget(name, session, out):
            out.append(Send(session, Unsubscribed(name), Priority.CONTROL))

    def session_closed(self, session: LinkName, now: Instant, out: list[Effect]) -> None:
        """A client is gone, with all its subscriptions."""
        for subscription in list(self._by_session.get(session, {}).values()):
            if not subscription.durable and not subscription.ends:
                standing = {**subscription.positions, **self._horizons(subscription)}
                self._claims.subscriber_left(standing, now)
            self._end(subscription, now, out)
        self._by_session.pop(session, None)

    def _end(
        self, subscription: Subscription, now: Instant, out: list[Effect], closing: str = ""
    ) -> None:
        session = subscription.session
        assert session is not None
        self._by_session[session].pop(subscription.name, None)
        self._past.leave(subscription)
        subscription.settle(self._horizons(subscription))
        subscription.disconnect()
        self._claims.forget(subscription.key)
        if subscription.durable:
            self._durable.left(subscription, now)
        if not subscription.ends:
            self._index.remove(subscription.key)
        del self._by_key[subscription.key], self._waiting[subscription.key]
        text = subscription.wanted
        self._wanted[text] -= 1
        if not self._wanted[text]:
            del self._wanted[text]
            for view in self._sources.values():
                self._send(view.unregister(text), out)
        if not self._wanted:
            self._forget_streams()
        if closing:
            out.append(CloseSession(session, closing, TAKEN_OVER, subscription.name))

    def _forget_streams(self) -> None:
        """Nobody listens: the streams begin anew with the next subscriber."""
        for view in self._sources.values():
            for stream in view.streams.values():
                self._requests.forget(stream)
            view.streams.clear()
            view.ticks.clear()
        self._source_of.clear()
        self._controls.clear()
        self._sample_at = None

    # -- attaching a subscriber to a stream -------------------------------------------------

    def _attach(
        self, subscription: Subscription, view: SourceView, now: Instant, out: list[Effect]
    ) -> None:
        for pubend in sorted(view.ticks):
            if pubend in subscription.live or pubend in subscription.catching_up:
                continue
            if not subscription.reads(pubend):
                continue
            confirmed = max(view.ticks[pubend], view.streams[pubend].horizon)
            subscription.confirmed_at[pubend] = confirmed
            resumed = subscription.positions.get(pubend)
            start = (
                first_tick(subscription, pubend, view, confirmed) if resumed is None else resumed
            )
            subscription.started[pubend] = start
            if subscription.ends and start >= subscription.ends.get(pubend, start):
                continue
            first = min(view.earliest.get(pubend, 0), subscription.ends.get(pubend, NEVER))
            if start < first:
                subscription.positions[pubend] = start
                subscription.deliver(pubend, Frame(start, first, final=True), out)
                start = first
            subscription.positions[pubend] = start
            subscription.consumed.setdefault(pubend, start)
            if subscription.ends:
                here = view.root == self._broker
                self._past.read(subscription, pubend, start, now, out, hosted_here=here)
            elif start >= confirmed:
                subscription.live[pubend] = None
            else:
                known = (start, max(view.streams[pubend].highest, confirmed))
                self._past.catch_up(subscription, pubend, known, now, out)
        if subscription.durable:
            self._durable.changed(subscription, now)

    # -- knowledge --------------------------------------------------------------------------

    def knowledge(self, message: Knowledge, now: Instant, out: list[Effect]) -> None:
        """A piece of a stream arrived from the relay."""
        view = self._source_of.get(message.pubend)
        if view is None:
            return
        live = view.streams[message.pubend]
        if message.answer_for is None or message.answer_for == LIVE_FILTER:
            self._live(live, message, now, out)
        self._past.knowledge(message, now, out)

    def _live(
        self, stream: EdgeStream, message: Knowledge, now: Instant, out: list[Effect]
    ) -> None:
        if message.answer_for is None:
            ready = stream.receive(message.frame, now)
        else:
            ready = stream.answered(message.frame, more=message.more, now=now)
        if ready:
            self._controls[stream.pubend].advanced(now)
            for frame in ready:
                self._deliver(stream.pubend, frame, now, out)
        self._requests.ask(stream, now, out)

    def _deliver(self, pubend: str, frame: Frame, now: Instant, out: list[Effect]) -> None:
        if frame.final:
            for subscription in self._by_key.values():
                if pubend in subscription.live:
                    self._hand_live(subscription, pubend, frame, now, out)
            return
        if not len(frame):
            return
        for key, rows in self._index.match(frame.batch):
            subscription = self._by_key[key]
            if pubend in subscription.live:
                self._hand_live(subscription, pubend, frame.select(rows), now, out)

    def _hand_live(
        self,
        subscription: Subscription,
        pubend: str,
        frame: Frame,
        now: Instant,
        out: list[Effect],
    ) -> None:
        subscription.deliver(pubend, frame, out)
        if subscription.buffered_bytes > self._parameters.session_buffer_bytes:
            here = self._source_of[pubend].root == self._broker
            self._past.fall_behind(subscription, pubend, now, hosted_here=here)

    # -- the reader's word ------------------------------------------------------------------

    def taken(self, session: LinkName, message: Taken, now: Instant, out: list[Effect]) -> None:
        """A client made room."""
        subscription = self._by_session.get(session, {}).get(message.subscription)
        if subscription is not None:
            subscription.taken(message.count_bytes, out)
            if subscription.has_room:
                self._past.room_made(subscription, now, out)

    def consumed(self, session: LinkName, message: Consumed, now: Instant) -> None:
        """A client is done with a prefix."""
        subscription = self._by_session.get(session, {}).get(message.subscription)
        if subscription is not None:
            subscription.consume(message.ticks)
            if subscription.durable:
                self._durable.changed(subscription, now)

    # -- the store's word -------------------------------------------------------------------

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """Something about durable subscriptions is saved, or was refused."""
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
                self._end(subscription, now, out)
            else:
                self._announce(subscription, now, out)

    def cursor_resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """A cursor is saved, or was refused; one that is new must be claimed before it counts."""
        moved = self.cursors.resolved(token, failure, out)
        if moved is not None:
            self._claims.cursor_moved(*moved, now, out)

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Repeat requests, save positions, acknowledge."""
        self._requests.repeat_due(now, out)
        self._past.deadline(now, out)
        if self._sample_at is not None and now >= self._sample_at:
            self._sample_at = now + self._parameters.congestion.sample_interval_ns
            for control in self._controls.values():
                control.sample(now)
        if now >= self._acknowledge_at:
            self._acknowledge_at = now + self._parameters.acknowledge_interval_ns
            for subscription in self._by_key.values():
                subscription.settle(self._horizons(subscription))
                if subscription.durable:
                    self._durable.changed(subscription, now)
            self._claims.state_all(now, out)
        self._durable.save_if_due(now, out)

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        return earliest(
            self._requests.next_deadline(),
            self._past.next_deadline(),
            self._acknowledge_at,
            self._durable.save_at,
            self._sample_at,
        )

    def _horizons(self, subscription: Subscription) -> dict[str, Tick]:
        """How far the live streams have come that this subscriber reads."""
        return {
            pubend: self._source_of[pubend].streams[pubend].horizon for pubend in subscription.live
        }

    def _send(self, message: object, out: list[Effect]) -> None:
        out.append(Send(LOCAL_RELAY, message, Priority.CONTROL))

    # -- looking in -------------------------------------------------------------------------

    @property
    def controls(self) -> Mapping[str, EdgeControl]:
        """The congestion control of each live stream."""
        return self._controls

    def horizons(self) -> dict[str, Tick]:
        """The doubt horizon of each live stream."""
        return {
            pubend: stream.horizon
            for view in self._sources.values()
            for pubend, stream in view.streams.items()
        }

    def streams(self) -> dict[str, StreamBounds]:
        """What can be read of each stream, as far as this edge knows."""
        return {
            pubend: StreamBounds(
                view.root, min(view.earliest.get(pubend, 0), stream.horizon), *2 * (stream.horizon,)
            )
            for view in self._sources.values()
            for pubend, stream in view.streams.items()
        }

    def subscriptions(self) -> list[Subscription]:
        """The connected subscriptions."""
        return list(self._by_key.values())

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
        """Every stream is possible, and nobody is live and catching up at once."""
        for view in self._sources.values():
            for stream in self._streams(view):
                stream.check_invariants()
        for subscription in self._by_key.values():
            subscription.check_invariants()
