"""Answers the questions of clients: why something is slow, and which streams there are."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.clock import Duration, Instant
from penstock.core.machine import Effect, LinkName
from penstock.core.open_request import OpenRequest
from penstock.services.guaranteed.dispatch import Handlers
from penstock.services.guaranteed.edge.cursor_why import explain_cursor
from penstock.services.guaranteed.edge.edge import Edge
from penstock.services.guaranteed.edge.subscription_why import explain_absent, explain_subscription
from penstock.services.guaranteed.messages import DescribeStreams, StreamBounds
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.why import explain


class Questions:
    """Answers them for one broker."""

    def __init__(self, broker: str, pubends: Mapping[str, Pubend], edge: Edge) -> None:
        self._broker = broker
        self._pubends = pubends
        self._edge = edge
        self.handlers: Handlers = {DescribeStreams: self.describe_streams}

    def explained(self, name: str, now: Instant, late_ns: Duration) -> bytes | None:
        """What slows a pubend down, or why subscriptions or a cursor are behind, as JSON."""
        pubend = self._pubends.get(name)
        if pubend is not None:
            return explain(pubend, self._broker, now, late_ns)
        readers = [each for each in self._edge.subscriptions() if each.name == name]
        if readers:
            return explain_subscription(readers, self._broker, self._edge.horizons(), now)
        absent = self._edge.durable_subscription(name)
        if absent is not None:
            return explain_absent(absent, self._broker, now)
        cursor = self._edge.cursor(name)
        if cursor is None:
            return None
        readers, horizons = self._edge.subscriptions(), self._edge.horizons()
        return explain_cursor(name, self._broker, cursor, self._streams(), readers, horizons, now)

    def _streams(self) -> dict[str, StreamBounds]:
        """The streams that this broker knows, its own exactly."""
        streams = self._edge.streams()
        for name, pubend in self._pubends.items():
            streams[name] = StreamBounds(
                self._broker, pubend.log_start, pubend.spoken_end, pubend.rows_end
            )
        return streams

    def describe_streams(
        self, session: LinkName, message: DescribeStreams, now: Instant, out: list[Effect]
    ) -> None:
        """List the streams that this broker knows, and what of them can be read."""
        asked = OpenRequest(session, message)
        if not self._edge.streams():
            problem = f"broker {self._broker!r} knows of no stream yet"
            out.append(asked.answer(problem=problem))
            return
        out.append(asked.answer(self._streams()))
