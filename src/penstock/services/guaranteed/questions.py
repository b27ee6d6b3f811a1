"""Answers the questions of clients: why something is slow, and which streams there are."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.services.guaranteed.dispatch import Handlers
from penstock.services.guaranteed.edge.edge import Edge
from penstock.services.guaranteed.edge.subscription_why import explain_absent, explain_subscription
from penstock.services.guaranteed.messages import (
    DescribeStreams,
    StreamBounds,
    StreamsDescribed,
    WhyReply,
    WhyRequest,
)
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.why import explain


class Questions:
    """Answers them for one broker."""

    def __init__(self, broker: str, pubends: Mapping[str, Pubend], edge: Edge) -> None:
        self._broker = broker
        self._pubends = pubends
        self._edge = edge
        self.handlers: Handlers = {WhyRequest: self.why, DescribeStreams: self.describe_streams}

    def why(self, session: LinkName, message: WhyRequest, now: Instant, out: list[Effect]) -> None:
        """Explain a pubend, or the subscriptions of a name."""
        out.append(Send(session, self._explained(message.name, now), Priority.CONTROL))

    def _explained(self, name: str, now: Instant) -> WhyReply:
        pubend = self._pubends.get(name)
        if pubend is not None:
            return WhyReply(name, explain(pubend, self._broker, now))
        readers = [each for each in self._edge.subscriptions() if each.name == name]
        if readers:
            horizons = self._edge.horizons()
            return WhyReply(name, explain_subscription(readers, self._broker, horizons, now))
        absent = self._edge.durable_subscription(name)
        if absent is not None:
            return WhyReply(name, explain_absent(absent, self._broker, now))
        hosted = ", ".join(sorted(self._pubends)) or "none"
        problem = (
            f"broker {self._broker!r} hosts no pubend {name!r} (it hosts: {hosted}), and no "
            "subscription of that name is connected to it or kept by it"
        )
        return WhyReply(name, b"", problem)

    def describe_streams(
        self, session: LinkName, message: DescribeStreams, now: Instant, out: list[Effect]
    ) -> None:
        """List the streams that this broker knows, and what of them can be read."""
        out.append(Send(session, self._described(), Priority.CONTROL))

    def _described(self) -> StreamsDescribed:
        streams = self._edge.streams()
        if not streams:
            return StreamsDescribed({}, f"broker {self._broker!r} knows of no stream yet")
        for name, pubend in self._pubends.items():
            streams[name] = StreamBounds(
                self._broker, pubend.log_start, pubend.spoken_end, pubend.rows_end
            )
        return StreamsDescribed(streams)
