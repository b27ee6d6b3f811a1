"""The requests of an edge's streams: sent when they are due, repeated when no answer comes."""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.core.machine import Effect, Priority, Send
from penstock.mechanisms.deadlines import Deadlines
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.links import LOCAL_RELAY
from penstock.services.guaranteed.messages import LIVE_FILTER, Nack


class EdgeRequests:
    """The requests of several streams of one edge."""

    def __init__(self) -> None:
        self._deadlines: Deadlines[EdgeStream] = Deadlines()

    def ask(self, stream: EdgeStream, now: Instant, out: list[Effect]) -> None:
        """Send the requests of a stream that are due, and note when it may have more."""
        intervals = stream.requests_due(now)
        if intervals:
            most_bytes, recovers = stream.window.piece_bytes, stream.filter == LIVE_FILTER
            nack = Nack(stream.pubend, intervals, stream.filter, most_bytes, recovers, stream.joins)
            out.append(Send(LOCAL_RELAY, nack, Priority.CONTROL))
        self._deadlines.set(stream, stream.next_deadline())

    def forget(self, stream: EdgeStream) -> None:
        """A stream has ended."""
        self._deadlines.set(stream, None)

    def repeat_due(self, now: Instant, out: list[Effect]) -> None:
        """Send the requests of every stream whose deadline has come."""
        for stream in self.pop_due(now):
            self.ask(stream, now, out)

    def pop_due(self, now: Instant) -> list[EdgeStream]:
        """The streams whose deadline has come; they have none until they ask again."""
        return self._deadlines.pop_due(now)

    def next_deadline(self) -> Instant | None:
        """When the next stream has a request that is due."""
        return self._deadlines.earliest()
