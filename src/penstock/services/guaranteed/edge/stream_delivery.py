"""Hands the streams of an edge to its subscribers.

1. All live subscribers share the live stream of each pubend; each gets, in order, the rows that
   match its selector.
2. A subscriber that starts in the past gets a stream of its own until it has caught up, and a
   reader of intervals has nothing else (penstock.services.guaranteed.edge.past_readers).
3. A subscriber that lets more than ``session_buffer_bytes`` wait leaves the live stream and
   continues with one of its own, at its own pace.  Neither the network nor its connection suffers.
"""

from __future__ import annotations

from penstock.content.matching.index import SelectorIndex
from penstock.content.rows.frame import Frame
from penstock.core.clock import NEVER, Instant
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, LinkName
from penstock.services.guaranteed.edge.connected import ConnectedSubscriptions
from penstock.services.guaranteed.edge.live_streams import LiveStreams
from penstock.services.guaranteed.edge.past_readers import PastReaders
from penstock.services.guaranteed.edge.sources import EdgeSources, SourceView
from penstock.services.guaranteed.edge.starting import first_tick
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.messages import LIVE_FILTER, Knowledge, Taken
from penstock.services.guaranteed.parameters import GuaranteedParameters


class StreamDelivery:
    """Attaches subscribers to streams, and delivers."""

    def __init__(
        self,
        broker: str,
        parameters: GuaranteedParameters,
        *,
        connected: ConnectedSubscriptions,
        index: SelectorIndex,
        sources: EdgeSources,
        live: LiveStreams,
        past: PastReaders,
    ) -> None:
        """``index`` has the selectors of all connected subscriptions but readers of intervals."""
        self._broker = broker
        self._buffer_bytes = parameters.session_buffer_bytes
        self._connected = connected
        self._index = index
        self._source_of = sources.of_pubend
        self._live = live
        self._requests = live.requests
        self._past = past

    # -- attaching a subscriber to streams --------------------------------------------------

    def attach(
        self, subscription: Subscription, view: SourceView, now: Instant, out: list[Effect]
    ) -> None:
        """Start a subscription on the streams of a source, which has confirmed its selector."""
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
            start = self._told_loss(subscription, pubend, view, start, out)
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

    def _told_loss(
        self,
        subscription: Subscription,
        pubend: str,
        view: SourceView,
        start: Tick,
        out: list[Effect],
    ) -> Tick:
        """Deliver what the log no longer holds as lost; returns the first tick that can be read."""
        first = min(view.earliest.get(pubend, 0), subscription.ends.get(pubend, NEVER))
        if start >= first:
            return start
        subscription.positions[pubend] = start
        subscription.deliver(pubend, Frame(start, first, final=True), out)
        return first

    # -- delivering -------------------------------------------------------------------------

    def knowledge(
        self, link: LinkName, message: Knowledge, now: Instant, out: list[Effect]
    ) -> None:
        """A piece of a stream arrived from the relay."""
        pubend = message.pubend
        view = self._source_of.get(pubend)
        if view is None:
            return
        if message.answer_for is None or message.answer_for == LIVE_FILTER:
            stream = view.streams[pubend]
            for frame in self._live.receive(stream, message, now):
                self._deliver(pubend, frame, now, out)
            self._requests.ask(stream, now, out)
        self._past.knowledge(message, now, out)

    def _deliver(self, pubend: str, frame: Frame, now: Instant, out: list[Effect]) -> None:
        if frame.final:
            for subscription in self._connected:
                if pubend in subscription.live:
                    self._deliver_live(subscription, pubend, frame, now, out)
            return
        if not len(frame):
            return
        by_key = self._connected.by_key
        for key, rows in self._index.match(frame.batch):
            subscription = by_key[key]
            if pubend in subscription.live:
                self._deliver_live(subscription, pubend, frame.select(rows), now, out)

    def _deliver_live(
        self,
        subscription: Subscription,
        pubend: str,
        frame: Frame,
        now: Instant,
        out: list[Effect],
    ) -> None:
        subscription.deliver(pubend, frame, out)
        if subscription.buffered_bytes > self._buffer_bytes:
            here = self._source_of[pubend].root == self._broker
            self._past.fall_behind(subscription, pubend, now, hosted_here=here)

    def taken(self, session: LinkName, message: Taken, now: Instant, out: list[Effect]) -> None:
        """A reader has consumed deliveries: there is room for more."""
        subscription = self._connected.find(session, message.subscription)
        if subscription is not None:
            subscription.taken(message.count_bytes, out)
            if subscription.has_room:
                self._past.room_made(subscription, now, out)
