"""Subscribers that read the past, each with a stream of its own.

1. A subscriber that catches up requests the rows of its own selector, at the pace at which its
   reader consumes them.  It takes live messages too, as far as they fit, and joins the live stream
   when it has reached it.  Its answers have a share of full links like live data: every new
   subscriber begins so, with what was published while it was being registered.
2. A live subscriber that reads more slowly than others publish comes here too.  What waits for it
   already stays; what follows is requested when that has been consumed, so a reader that consumes
   nothing costs nothing more.  Far from the pubend it is paced like a reader of intervals: live
   data for others uses the same links, and publishers must not wait for the slowest reader.  It is
   live again when it has caught up and nothing waits for it: the whole buffer lies between leaving
   and rejoining, otherwise it would alternate with every frame.
3. A reader of intervals is paced like a recovering edge: it gets what the network can spare.
   Where the broker hosts the pubend itself, no link is involved, and the reader is the only limit.
4. None of these may delay others.  Frames that are ready are delivered in slices of
   ``answer_frames``, and an answer that came at once, from a cache of this broker, is not followed
   by the next request at once: both continue in the next turn, after the others.
"""

from __future__ import annotations

from penstock.content.matching.index import SelectorIndex
from penstock.content.rows.frame import Frame
from penstock.core.clock import NEVER, Instant, earliest
from penstock.core.intervals import Tick
from penstock.core.machine import Effect
from penstock.services.guaranteed.edge.requests import EdgeRequests
from penstock.services.guaranteed.edge.sources import EdgeSources
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.laws.nack_windows import NackWindows, Pacing
from penstock.services.guaranteed.messages import Knowledge
from penstock.services.guaranteed.parameters import GuaranteedParameters


class PastReaders:
    """All readers of the past at one edge."""

    def __init__(
        self,
        parameters: GuaranteedParameters,
        windows: NackWindows,
        index: SelectorIndex,
        sources: EdgeSources,
    ) -> None:
        """``index`` has the selectors of all subscribers that will be live."""
        self._parameters = parameters
        self._windows = windows
        self._requests = EdgeRequests()
        self._index = index
        self._sources = sources
        self._unfinished: dict[tuple[str, int], None] = {}
        """Pubend and key of the readers that continue in the next turn."""
        self._go_on_at: Instant | None = None
        self._of_pubend: dict[str, dict[int, Subscription]] = {}
        self._reader_of: dict[EdgeStream, Subscription] = {}

    def streams(self, pubend: str) -> list[EdgeStream]:
        """The streams on which a pubend's past is read."""
        readers = self._of_pubend.get(pubend, {}).values()
        return [subscription.catching_up[pubend] for subscription in readers]

    def catch_up(
        self,
        subscription: Subscription,
        pubend: str,
        interval: tuple[Tick, Tick],
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Read from the start of ``interval``; its end is the highest tick that is known."""
        start, highest = interval
        stream = self._past_stream(subscription, pubend, start, self._windows.catch_up())
        stream.joins = True
        stream.highest = highest
        self._begin(subscription, stream)
        self._requests.ask(stream, now, out)

    def fall_behind(
        self, subscription: Subscription, pubend: str, now: Instant, *, hosted_here: bool
    ) -> None:
        """A live subscriber left too much unread: continue from the log when it has room."""
        del subscription.live[pubend]
        pacing = self._windows.fallen_behind(hosted_here=hosted_here)
        stream = self._past_stream(subscription, pubend, subscription.positions[pubend], pacing)
        stream.highest = self._sources.live(pubend).highest
        self._begin(subscription, stream)
        subscription.fell_behind(now)

    def _past_stream(
        self,
        subscription: Subscription,
        pubend: str,
        start: Tick,
        pacing: Pacing,
    ) -> EdgeStream:
        """A stream that will join the live one, and holds some of it meanwhile."""
        parameters = self._parameters
        return EdgeStream(
            pubend,
            subscription.selector.text,
            start,
            pacing.window,
            parameters,
            receive_window=NEVER,
            receive_window_bytes=parameters.session_buffer_bytes,
            unit_ns=pacing.unit_ns,
            most_units=pacing.most_units,
            most_ready=parameters.answer_frames,
        )

    def read(
        self,
        subscription: Subscription,
        pubend: str,
        start: Tick,
        now: Instant,
        out: list[Effect],
        *,
        hosted_here: bool,
    ) -> None:
        """Read an interval up to the subscription's end."""
        end = subscription.ends[pubend]
        if start >= end:
            # The log begins after the interval, and the loss was delivered.
            return
        pacing = self._windows.interval(end - start, hosted_here=hosted_here)
        stream = EdgeStream(
            pubend,
            subscription.selector.text,
            start,
            pacing.window,
            self._parameters,
            receive_window=NEVER,
            unit_ns=pacing.unit_ns,
            most_units=pacing.most_units,
            most_ready=self._parameters.answer_frames,
        )
        stream.highest = end
        self._begin(subscription, stream)
        self._requests.ask(stream, now, out)

    def _begin(self, subscription: Subscription, stream: EdgeStream) -> None:
        subscription.catching_up[stream.pubend] = stream
        self._of_pubend.setdefault(stream.pubend, {})[subscription.key] = subscription
        self._reader_of[stream] = subscription

    def leave(self, subscription: Subscription) -> None:
        """A subscription ends before its streams do."""
        for pubend, stream in subscription.catching_up.items():
            self._of_pubend[pubend].pop(subscription.key, None)
            self._requests.forget(stream)
            del self._reader_of[stream]

    def _finish(self, subscription: Subscription, pubend: str) -> None:
        stream = subscription.catching_up.pop(pubend)
        self._requests.forget(stream)
        del self._of_pubend[pubend][subscription.key], self._reader_of[stream]

    def path_changed(self, pubend: str, now: Instant, out: list[Effect]) -> None:
        """The way to the pubend has changed: requests in flight are lost."""
        for stream in self.streams(pubend):
            stream.path_changed()
            self._ask_again(stream, now, out)

    def _ask_again(self, stream: EdgeStream, now: Instant, out: list[Effect]) -> None:
        """Repeat the requests of a reader that has room; others ask when they have room again.

        Otherwise answers that the reader does not consume would accumulate.
        """
        if self._reader_of[stream].has_room:
            self._requests.ask(stream, now, out)
        else:
            stream.forget_requests()
            self._requests.forget(stream)

    # -- what arrives ----------------------------------------------------------------------

    def knowledge(self, message: Knowledge, now: Instant, out: list[Effect]) -> None:
        """A piece of a stream arrived from the relay."""
        for subscription in list(self._of_pubend.get(message.pubend, {}).values()):
            stream = subscription.catching_up[message.pubend]
            if subscription.ends:
                ready = self._of_interval(subscription, stream, message, now)
            else:
                ready = self._of_past(subscription, stream, message, now)
            if ready is not None:
                self._advance(subscription, stream, ready, now, out)

    def _of_past(
        self, subscription: Subscription, stream: EdgeStream, message: Knowledge, now: Instant
    ) -> list[Frame] | None:
        frame = message.frame
        if message.answer_for == stream.filter:
            return stream.answered(frame, more=message.more, now=now, origin=message.origin)
        if message.answer_for is not None:
            return []
        stream.highest = max(stream.highest, frame.high)
        if frame.low < subscription.confirmed_at[stream.pubend] or not subscription.has_room:
            return []
        if not stream.continues(frame):
            return []
        rows = self._index.match(frame.batch).rows_of(subscription.key)
        return stream.receive(frame.select(rows), now)

    def _of_interval(
        self, subscription: Subscription, stream: EdgeStream, message: Knowledge, now: Instant
    ) -> list[Frame] | None:
        frame, end = message.frame, subscription.ends[stream.pubend]
        if message.answer_for != stream.filter or frame.low >= end or frame.high <= stream.horizon:
            # Live data, or the answer to another reader of the same selector.
            return None
        part = frame.slice(stream.horizon, end)
        return stream.answered(part, more=message.more, now=now, origin=message.origin)

    # -- how a reader continues ------------------------------------------------------------

    def _advance(
        self,
        subscription: Subscription,
        stream: EdgeStream,
        ready: list[Frame],
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Deliver what is ready; then finish, join the live stream, or ask for more."""
        pubend = stream.pubend
        for frame in ready:
            subscription.deliver(pubend, frame, out)
        if subscription.ends:
            if stream.horizon >= subscription.ends[pubend]:
                self._finish(subscription, pubend)
                return
        elif not subscription.buffered_bytes and stream.horizon >= self._joins_at(
            subscription, pubend
        ):
            subscription.live[pubend] = None
            subscription.positions[pubend] = max(subscription.positions[pubend], stream.horizon)
            self._finish(subscription, pubend)
            subscription.caught_up()
            return
        if subscription.has_room:
            if stream.has_ready or stream.asked_at == now:
                self._unfinished[pubend, subscription.key] = None
                self._go_on_at = now
            else:
                self._requests.ask(stream, now, out)

    def _joins_at(self, subscription: Subscription, pubend: str) -> Tick:
        return max(self._sources.live(pubend).horizon, subscription.confirmed_at[pubend])

    def room_made(self, subscription: Subscription, now: Instant, out: list[Effect]) -> None:
        """The reader consumed something: deliver what is ready, and ask for more."""
        for stream in list(subscription.catching_up.values()):
            self._advance(subscription, stream, stream.take_ready(), now, out)

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Repeat requests that are due, and continue with interrupted readers."""
        for stream in self._requests.pop_due(now):
            self._ask_again(stream, now, out)
        self._go_on(now, out)

    def _go_on(self, now: Instant, out: list[Effect]) -> None:
        """Deliver the next slice to every interrupted reader."""
        if self._go_on_at is None or now < self._go_on_at:
            return
        unfinished, self._unfinished, self._go_on_at = self._unfinished, {}, None
        for pubend, key in unfinished:
            subscription = self._of_pubend[pubend].get(key)
            if subscription is not None and subscription.has_room:
                stream = subscription.catching_up[pubend]
                stream.asked_at = None
                self._advance(subscription, stream, stream.take_ready(), now, out)

    def next_deadline(self) -> Instant | None:
        """When a request is overdue, or an interrupted reader continues."""
        return earliest(self._requests.next_deadline(), self._go_on_at)

    def check_invariants(self) -> None:
        for stream in self._reader_of:
            stream.check_invariants()
