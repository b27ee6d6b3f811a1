"""The live streams of an edge: one for each pubend, shared by all connected subscribers.

1. A live stream starts where the first subscriber was confirmed, and ends when no subscriber is
   connected; the next subscriber starts a new one.
2. Missing ticks are requested (``requests``), paced by the stream's NACK window.
3. Each stream is measured, and queries of its pubend are answered (``congestion_control``).
4. A source that was restarted has published up to the ticks that it confirms, and may say nothing
   more: none of its messages from before the restart will arrive, so what is unknown is missing.
"""

from __future__ import annotations

from penstock.content.rows.frame import Frame
from penstock.core.clock import Instant
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, LinkName
from penstock.services.guaranteed.edge.congestion_control import EdgeControl
from penstock.services.guaranteed.edge.requests import EdgeRequests
from penstock.services.guaranteed.edge.sources import EdgeSources, SourceView, to_relay
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.laws.congestion_law import congestion_law
from penstock.services.guaranteed.laws.nack_windows import NackWindows
from penstock.services.guaranteed.messages import (
    LIVE_FILTER,
    DownstreamCongestionQuery,
    Knowledge,
    SubscriptionConfirmed,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters


class LiveStreams:
    """Assembles the live streams of one edge."""

    def __init__(
        self,
        broker: str,
        parameters: GuaranteedParameters,
        windows: NackWindows,
        sources: EdgeSources,
    ) -> None:
        """``broker`` is the name that the alerts carry."""
        self.controls: dict[str, EdgeControl] = {}
        self.requests = EdgeRequests()
        self._broker = broker
        self._parameters = parameters
        self._law = congestion_law(parameters.congestion)
        self._windows = windows
        self._sources = sources
        self._sample_interval_ns = parameters.congestion.sample_interval_ns
        self._sample_at: Instant | None = None

    def confirmed(
        self, view: SourceView, message: SubscriptionConfirmed, now: Instant, out: list[Effect]
    ) -> None:
        """A source has confirmed from which ticks on its live streams are complete."""
        has_restarted = view.has_restarted
        for pubend, tick in sorted(message.ticks.items()):
            self._sources.opened(pubend, view)
            if pubend not in view.streams:
                view.streams[pubend] = self._opened(pubend, tick, now)
        if has_restarted:
            view.restarted_version = None
            for pubend, stream in sorted(view.streams.items()):
                stream.highest = max(stream.highest, view.ticks[pubend])
                self.requests.ask(stream, now, out)

    def _opened(self, pubend: str, start: Tick, now: Instant) -> EdgeStream:
        parameters, pacing = self._parameters, self._windows.live()
        stream = EdgeStream(
            pubend,
            LIVE_FILTER,
            start,
            pacing.window,
            parameters,
            receive_window=parameters.receive_window_ns,
        )
        self.controls[pubend] = EdgeControl(
            self._broker,
            stream,
            parameters.congestion,
            self._law,
            silence_interval_ns=parameters.silence_interval_ns,
            now=now,
        )
        if self._sample_at is None:
            self._sample_at = now
        return stream

    def receive(self, stream: EdgeStream, message: Knowledge, now: Instant) -> list[Frame]:
        """Take knowledge in; returns the frames that became contiguous, in order."""
        frame = message.frame
        if message.answer_for is None:
            ready = stream.receive(frame, now)
        else:
            ready = stream.answered(frame, more=message.more, now=now, origin=message.origin)
        if ready:
            self.controls[stream.pubend].advanced(now)
        return ready

    def path_changed(self, stream: EdgeStream, now: Instant, out: list[Effect]) -> None:
        """The way to a source has changed: requests in flight are lost, so ask again."""
        stream.path_changed()
        self.controls[stream.pubend].path_changed()
        self.requests.ask(stream, now, out)

    def query(
        self, link: LinkName, query: DownstreamCongestionQuery, now: Instant, out: list[Effect]
    ) -> None:
        """A pubend asks whether this edge keeps up."""
        self._sources.log_begins(query.pubend, query.earliest)
        control = self.controls.get(query.pubend)
        alert = None if control is None else control.answer(query, now)
        if alert is not None:
            out.append(to_relay(alert))

    def forget_all(self) -> None:
        """No subscriber is connected: end all live streams."""
        for view in self._sources:
            for stream in view.streams.values():
                self.requests.forget(stream)
        self._sources.forget_streams()
        self.controls.clear()
        self._sample_at = None

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Repeat requests that are due, and sample the horizon rates."""
        self.requests.repeat_due(now, out)
        if self._sample_at is not None and now >= self._sample_at:
            self._sample_at = now + self._sample_interval_ns
            for control in self.controls.values():
                control.sample(now)

    def next_deadline(self) -> Instant | None:
        """When a request is due, or a sample."""
        request_at, sample_at = self.requests.next_deadline(), self._sample_at
        if request_at is None or (sample_at is not None and sample_at < request_at):
            return sample_at
        return request_at

    def check_invariants(self) -> None:
        for view in self._sources:
            for stream in view.streams.values():
                stream.check_invariants()
