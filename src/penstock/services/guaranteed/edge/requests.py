"""What the streams of an edge ask for: sent when it is due, repeated when no answer comes."""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.core.machine import Effect, Priority, Send
from penstock.mechanisms.deadlines import Deadlines
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.links import LOCAL_RELAY
from penstock.services.guaranteed.messages import Nack


class EdgeRequests:
    """The requests of all streams of one edge."""

    def __init__(self) -> None:
        """Nobody asks for anything."""
        self._deadlines: Deadlines[EdgeStream] = Deadlines()

    def ask(self, stream: EdgeStream, now: Instant, out: list[Effect]) -> None:
        """Send what a stream has to ask for now, and look again when it may have more."""
        intervals = stream.requests_due(now)
        if intervals:
            nack = Nack(stream.pubend, intervals, stream.filter, stream.window.piece_bytes)
            out.append(Send(LOCAL_RELAY, nack, Priority.CONTROL))
        self._deadlines.set(stream, stream.next_deadline())

    def forget(self, stream: EdgeStream) -> None:
        """A stream has ended."""
        self._deadlines.set(stream, None)

    def repeat_due(self, now: Instant, out: list[Effect]) -> None:
        """Ask for every stream whose time has come."""
        for stream in self.pop_due(now):
            self.ask(stream, now, out)

    def pop_due(self, now: Instant) -> list[EdgeStream]:
        """The streams whose time has come; none of them is looked at again unless it asks."""
        return self._deadlines.pop_due(now)

    def next_deadline(self) -> Instant | None:
        """When the next stream has something to ask for."""
        return self._deadlines.earliest()
