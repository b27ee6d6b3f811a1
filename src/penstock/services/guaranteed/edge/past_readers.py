"""Subscribers that read the past, each by a stream of its own.

1. One that catches up asks for its own selector's rows, at the pace at which its reader takes them.
   It takes live messages too, as far as they fit, and joins the live stream when it has reached it.
2. One that was live and reads more slowly than others publish comes here too.  What waits for it
   already stays; what follows is read for it when that has been taken, so a reader that takes
   nothing costs nothing more.  Far from the pubend it is paced as a reader of intervals is: live
   data passes the same links for the others, and publishers must not wait for the slowest reader.
   It is live again when it has caught up and nothing waits for it: the whole bound lies between
   going and coming, or it would go to and fro with every frame.
3. One that reads intervals is paced as a recovering edge is, since nobody waits for it: the network
   gives it what it can spare.  Where the broker hosts the pubend itself there is no network to
   spare, and the reader is the only limit.
4. Nobody of these may hold up others.  What is ready for one is handed over in slices of
   ``answer_frames``, and what was answered at once, from a cache of this broker, is not followed by
   the next request at once: both go on in the next turn, when others have had theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.content.matching.index import SelectorIndex
from penstock.content.rows.frame import Frame
from penstock.core.clock import NEVER, Instant, earliest
from penstock.core.intervals import Tick
from penstock.core.machine import Effect
from penstock.services.guaranteed.edge.requests import EdgeRequests
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.laws.nack_window import CatchUpWindow, FixedNackWindow, NackWindow
from penstock.services.guaranteed.laws.read_window import PIECES, SMALLEST_SPAN, ReadWindow
from penstock.services.guaranteed.messages import Knowledge
from penstock.services.guaranteed.parameters import GuaranteedParameters

IN_PIECES: Final = {"unit_ns": SMALLEST_SPAN, "most_units": PIECES}
"""How a ``ReadWindow`` is asked for."""

LiveStream = Callable[[str], EdgeStream]
"""The live stream of a pubend, which those who catch up will join."""


class PastReaders:
    """All of them at one edge."""

    def __init__(
        self,
        parameters: GuaranteedParameters,
        index: SelectorIndex,
        live: LiveStream,
    ) -> None:
        """``index`` has the selectors of everybody who will be live."""
        self._parameters = parameters
        self._requests = EdgeRequests()
        self._index = index
        self._live = live
        self._unfinished: dict[tuple[str, int], None] = {}
        self._go_on_at: Instant | None = None
        self._of_pubend: dict[str, dict[int, Subscription]] = {}
        self._reader_of: dict[EdgeStream, Subscription] = {}

    def streams(self, pubend: str) -> list[EdgeStream]:
        """The streams that read a pubend's past."""
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
        """Read from a tick on; the highest tick known so far is told as well."""
        start, highest = interval
        stream = self._past_stream(
            subscription, pubend, start, CatchUpWindow(self._parameters.answer_bytes)
        )
        stream.highest = highest
        self._begin(subscription, stream)
        self._requests.ask(stream, now, out)

    def fall_behind(
        self, subscription: Subscription, pubend: str, now: Instant, *, hosted_here: bool
    ) -> None:
        """A live reader has left too much unread: from here on it is read for when it has room."""
        del subscription.live[pubend]
        start, parameters = subscription.positions[pubend], self._parameters
        if parameters.congestion.sdcc and not hosted_here:
            window = ReadWindow(parameters.answer_bytes)
            stream = self._past_stream(subscription, pubend, start, window, **IN_PIECES)
        else:
            answer = parameters.local_answer_bytes if hosted_here else parameters.answer_bytes
            stream = self._past_stream(subscription, pubend, start, CatchUpWindow(answer))
        stream.highest = self._live(pubend).highest
        self._begin(subscription, stream)
        subscription.fell_behind(now)

    def _past_stream(
        self,
        subscription: Subscription,
        pubend: str,
        start: Tick,
        window: NackWindow,
        **pieces: int,
    ) -> EdgeStream:
        """A stream that will join the live one, and holds some of that meanwhile."""
        parameters = self._parameters
        return EdgeStream(
            pubend,
            subscription.selector.text,
            start,
            window,
            parameters,
            receive_window=NEVER,
            receive_window_bytes=parameters.session_buffer_bytes,
            most_ready=parameters.answer_frames,
            **pieces,
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
        """Read up to the subscription's end."""
        end = subscription.ends[pubend]
        if start >= end:
            # The log begins behind the interval, and that was said.
            return
        stream = EdgeStream(
            pubend,
            subscription.selector.text,
            start,
            self._read_window(end - start, hosted_here=hosted_here),
            self._parameters,
            receive_window=NEVER,
            most_ready=self._parameters.answer_frames,
            **IN_PIECES,
        )
        stream.highest = end
        self._begin(subscription, stream)
        self._requests.ask(stream, now, out)

    def _read_window(self, length: int, *, hosted_here: bool) -> NackWindow:
        parameters = self._parameters
        if not parameters.congestion.sdcc:
            return FixedNackWindow(length)
        if hosted_here:
            return ReadWindow(parameters.local_answer_bytes, paced=False)
        return ReadWindow(parameters.answer_bytes)

    def _begin(self, subscription: Subscription, stream: EdgeStream) -> None:
        subscription.catching_up[stream.pubend] = stream
        self._of_pubend.setdefault(stream.pubend, {})[subscription.key] = subscription
        self._reader_of[stream] = subscription

    def leave(self, subscription: Subscription) -> None:
        """A subscription ends, wherever it has come to."""
        for pubend, stream in subscription.catching_up.items():
            self._of_pubend[pubend].pop(subscription.key, None)
            self._requests.forget(stream)
            del self._reader_of[stream]

    def _finish(self, subscription: Subscription, pubend: str) -> None:
        stream = subscription.catching_up.pop(pubend)
        self._requests.forget(stream)
        del self._of_pubend[pubend][subscription.key], self._reader_of[stream]

    def path_changed(self, pubend: str, now: Instant, out: list[Effect]) -> None:
        """What was asked for is not under way any more."""
        for stream in self.streams(pubend):
            stream.forget_requests()
            self._ask_again(stream, now, out)

    def _ask_again(self, stream: EdgeStream, now: Instant, out: list[Effect]) -> None:
        """Who has no room asks when it has: answers that nobody takes would fill the memory."""
        if self._reader_of[stream].has_room:
            self._requests.ask(stream, now, out)
        else:
            stream.forget_requests()
            self._requests.forget(stream)

    # -- what arrives ----------------------------------------------------------------------

    def knowledge(self, message: Knowledge, now: Instant, out: list[Effect]) -> None:
        """A piece of a stream arrived."""
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
            return stream.answered(frame, more=message.more, now=now)
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
            # Live, or the answer to another reader of the same selector.
            return None
        part = frame.slice(stream.horizon, end)
        return stream.answered(part, more=message.more, now=now)

    # -- how a reader goes on --------------------------------------------------------------

    def _advance(
        self,
        subscription: Subscription,
        stream: EdgeStream,
        ready: list[Frame],
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Hand over what is ready; then it is done, or there is more to hand over or to ask for."""
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
        return max(self._live(pubend).horizon, subscription.confirmed_at[pubend])

    def room_made(self, subscription: Subscription, now: Instant, out: list[Effect]) -> None:
        """The reader took something: hand over more, if there is any, and ask for more."""
        for stream in list(subscription.catching_up.values()):
            self._advance(subscription, stream, stream.take_ready(), now, out)

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Repeat requests, and go on where somebody was interrupted."""
        for stream in self._requests.pop_due(now):
            self._ask_again(stream, now, out)
        self._go_on(now, out)

    def _go_on(self, now: Instant, out: list[Effect]) -> None:
        """The next slice for everybody who was interrupted."""
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
        """When a request is overdue, or somebody who was interrupted goes on."""
        return earliest(self._requests.next_deadline(), self._go_on_at)
