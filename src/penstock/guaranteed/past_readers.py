"""Subscribers that read the past, each by a stream of its own.

1. One that catches up asks for its own selector's rows, at the pace at which its reader takes them.
   It takes live messages too, as far as they fit, and joins the live stream when it has reached it.
2. One that reads intervals is paced as a recovering edge is, since nobody waits for it: the network
   gives it what it can spare.  Where the broker hosts the pubend itself there is no network to
   spare, and the reader is the only limit.
"""

from __future__ import annotations

from penstock.content.frame import Frame
from penstock.content.selector_index import SelectorIndex
from penstock.core.clock import NEVER, Instant
from penstock.core.intervals import Tick
from penstock.core.machine import Effect
from penstock.guaranteed.edge_requests import EdgeRequests
from penstock.guaranteed.edge_stream import EdgeStream
from penstock.guaranteed.messages import Knowledge
from penstock.guaranteed.nack_window import CatchUpWindow, FixedNackWindow, NackWindow
from penstock.guaranteed.parameters import GuaranteedParameters
from penstock.guaranteed.read_window import PIECES, SMALLEST_SPAN, ReadWindow
from penstock.guaranteed.subscription import Subscription


class PastReaders:
    """All of them at one edge."""

    def __init__(
        self, parameters: GuaranteedParameters, requests: EdgeRequests, index: SelectorIndex
    ) -> None:
        """``index`` has the selectors of everybody who will be live."""
        self._parameters = parameters
        self._requests = requests
        self._index = index
        self._of_pubend: dict[str, dict[int, Subscription]] = {}

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
        stream = EdgeStream(
            pubend,
            subscription.selector.text,
            start,
            CatchUpWindow(self._parameters.answer_bytes),
            self._parameters,
            receive_window=NEVER,
        )
        stream.highest = highest
        self._begin(subscription, stream, now, out)

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
            unit_ns=SMALLEST_SPAN,
            most_units=PIECES,
        )
        stream.highest = end
        self._begin(subscription, stream, now, out)

    def _read_window(self, length: int, *, hosted_here: bool) -> NackWindow:
        parameters = self._parameters
        if not parameters.congestion.sdcc:
            return FixedNackWindow(length)
        if hosted_here:
            return ReadWindow(parameters.local_answer_bytes, paced=False)
        return ReadWindow(parameters.answer_bytes)

    def _begin(
        self, subscription: Subscription, stream: EdgeStream, now: Instant, out: list[Effect]
    ) -> None:
        subscription.catching_up[stream.pubend] = stream
        self._of_pubend.setdefault(stream.pubend, {})[subscription.key] = subscription
        self._requests.ask(stream, now, out)

    def leave(self, subscription: Subscription) -> None:
        """A subscription ends, wherever it has come to."""
        for pubend, stream in subscription.catching_up.items():
            self._of_pubend[pubend].pop(subscription.key, None)
            self._requests.forget(stream)

    def _finish(self, subscription: Subscription, pubend: str) -> None:
        self._requests.forget(subscription.catching_up.pop(pubend))
        del self._of_pubend[pubend][subscription.key]

    def knowledge(
        self, message: Knowledge, live: EdgeStream, now: Instant, out: list[Effect]
    ) -> None:
        """A piece of a stream arrived; ``live`` is the stream that those who catch up will join."""
        for subscription in list(self._of_pubend.get(message.pubend, {}).values()):
            if subscription.ends:
                self._interval(subscription, message, now, out)
            else:
                self._catching_up(subscription, message, live, now, out)

    def _catching_up(
        self,
        subscription: Subscription,
        message: Knowledge,
        live: EdgeStream,
        now: Instant,
        out: list[Effect],
    ) -> None:
        pubend = message.pubend
        stream = subscription.catching_up[pubend]
        ready: list[Frame] = []
        if message.answer_for == stream.filter:
            ready = stream.answered(message.frame, more=message.more, now=now)
        elif message.answer_for is None:
            stream.highest = max(stream.highest, message.frame.high)
            frame = message.frame
            if frame.low >= subscription.confirmed_at[pubend] and subscription.has_room:
                rows = self._index.match(frame.batch).rows_of(subscription.key)
                ready = stream.receive(frame.select(rows), now)
        for frame in ready:
            subscription.deliver(pubend, frame, out)
        if stream.horizon >= max(live.horizon, subscription.confirmed_at[pubend]):
            subscription.live[pubend] = None
            subscription.positions[pubend] = max(subscription.positions[pubend], stream.horizon)
            self._finish(subscription, pubend)
        elif subscription.has_room:
            self._requests.ask(stream, now, out)

    def _interval(
        self, subscription: Subscription, message: Knowledge, now: Instant, out: list[Effect]
    ) -> None:
        pubend = message.pubend
        stream = subscription.catching_up[pubend]
        end = subscription.ends[pubend]
        frame = message.frame
        if message.answer_for != stream.filter or frame.low >= end or frame.high <= stream.horizon:
            # Live, or the answer to another reader of the same selector.
            return
        part = frame.slice(stream.horizon, end)
        for ready in stream.answered(part, more=message.more, now=now):
            subscription.deliver(pubend, ready, out)
        if stream.horizon >= end:
            self._finish(subscription, pubend)
        elif subscription.has_room:
            self._requests.ask(stream, now, out)
