"""Messages of this broker's clients on their way to every broker with members.

A transmission is one message and the receivers that have not confirmed it.  The receipt goes to the
client when the last of them has, or has left: whoever has a receipt knows that no crash can lose
the message any more for a member that stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from penstock.core.clock import Duration, Instant, earliest
from penstock.core.machine import Effect, InvariantBroken, LinkName, Priority, Send
from penstock.services.multicast.groups.route import ParentsOf, path_to
from penstock.services.multicast.messages import (
    Destination,
    GroupSendReceipt,
    Multicast,
    MulticastReceived,
    SendToGroups,
)
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.streams.stream import OutgoingStream, Transmission

STAMP_MASK = 0xFFFF_FFFF

Forward = Callable[[Multicast, LinkName, Instant, list[Effect]], None]
"""Sends a message on its way, or hands it to the members here."""


class Outbound:
    """All streams that begin at this broker."""

    def __init__(
        self,
        broker: str,
        incarnation: int,
        parameters: MulticastParameters,
        parents_of: ParentsOf,
        forward: Forward,
    ) -> None:
        """Nothing is under way."""
        self._broker = broker
        self._incarnation = incarnation
        self._parameters = parameters
        self._parents_of = parents_of
        self._forward = forward
        self._streams: dict[str, OutgoingStream] = {}
        self.unconfirmed_bytes = 0
        self.settled_since_asked = False

    def has_room(self) -> bool:
        """Whether one more message may be under way."""
        return self.unconfirmed_bytes < self._parameters.window_bytes

    def round_trip_ns(self, brokers: Iterable[str]) -> Duration:
        """The longest to any of these brokers, as far as it was measured."""
        streams = (self._streams.get(broker) for broker in brokers)
        return max((each.round_trip_ns for each in streams if each is not None), default=0)

    def transmit(
        self,
        request: SendToGroups,
        brokers: dict[str, int],
        *,
        session: LinkName,
        size_bytes: int,
        paid: float,
        named: tuple[int, int],
        waited_ns: Duration,
        now: Instant,
        out: list[Effect],
    ) -> None:
        """A message was bought: number it for each receiving broker, and send it."""
        streams = [self._stream(broker, brokers[broker], now) for broker in brokers]
        message = Multicast(
            self._broker,
            self._incarnation,
            request.producer,
            request.first_sequence,
            request.groups,
            tuple(
                [
                    self._destination(broker, stream, stream.next_position)
                    for broker, stream in zip(brokers, streams, strict=True)
                ]
            ),
            paid,
            *named,
            0,
            request.batch,
        )
        transmission = Transmission(message, session, size_bytes, waited_ns)
        transmission.pending = dict.fromkeys(brokers)
        transmission.receivers = len(streams)
        for stream in streams:
            stream.append(transmission, now)
        self.unconfirmed_bytes += size_bytes
        if streams:
            self._forward(message, "", now, out)
        else:
            self._settle(transmission, out)

    def _stream(self, broker: str, incarnation: int, now: Instant) -> OutgoingStream:
        stream = self._streams.get(broker)
        if stream is None:
            stream = self._streams[broker] = OutgoingStream(incarnation)
            stream.path = path_to(self._broker, broker, self._parents_of(self._broker))
            if not stream.path:
                stream.unreachable_since = now
        return stream

    @staticmethod
    def _destination(broker: str, stream: OutgoingStream, position: int) -> Destination:
        return Destination(broker, stream.incarnation & STAMP_MASK, position, stream.floor)

    # -- confirmations ----------------------------------------------------------------------

    def received(self, message: MulticastReceived, now: Instant, out: list[Effect]) -> None:
        """A receiver says how far it has come."""
        stream = self._streams.get(message.receiver)
        if stream is None or message.incarnation != self._incarnation:
            return
        for transmission in stream.confirmed(message.position, message.held_ns, now):
            self._confirmed(transmission, message.receiver, out)
        stream.missing(message.position, message.seen)
        self._resend(message.receiver, stream, now, out)

    def _confirmed(self, transmission: Transmission, receiver: str, out: list[Effect]) -> None:
        transmission.pending.pop(receiver, None)
        if not transmission.pending:
            self._settle(transmission, out)

    def _settle(self, transmission: Transmission, out: list[Effect]) -> None:
        self.unconfirmed_bytes -= transmission.size_bytes
        self.settled_since_asked = True
        message = transmission.message
        receipt = GroupSendReceipt(
            message.sender,
            message.first_sequence,
            len(message.batch),
            transmission.receivers,
            transmission.waited_ns,
        )
        out.append(Send(transmission.session, receipt, Priority.CONTROL))

    def _resend(self, broker: str, stream: OutgoingStream, now: Instant, out: list[Effect]) -> None:
        if stream.unreachable_since is not None:
            return
        for position, transmission in stream.resend():
            destination = self._destination(broker, stream, position)
            again = msgspec.structs.replace(transmission.message, destinations=(destination,))
            self._forward(again, "", now, out)

    # -- changes of the overlay -------------------------------------------------------------

    def routes_changed(self, now: Instant, out: list[Effect]) -> None:
        """What was under way on a way that is no more is sent again."""
        parents = self._parents_of(self._broker)
        for broker, stream in self._streams.items():
            path = path_to(self._broker, broker, parents)
            if path == stream.path:
                continue
            stream.path = path
            if not path:
                stream.unreachable_since = stream.unreachable_since or now
                continue
            stream.unreachable_since = None
            stream.recover()
            self._resend(broker, stream, now, out)

    def departed(self, broker: str, out: list[Effect]) -> None:
        """The members that were at a broker are gone; should they return, its stream goes on."""
        stream = self._streams.get(broker)
        if stream is not None:
            for transmission in stream.abandon():
                self._confirmed(transmission, broker, out)

    def forget_restarted(self, incarnation_of: Callable[[str], int], out: list[Effect]) -> None:
        """Give up the streams to brokers that were started anew: their members were others."""
        for broker in list(self._streams):
            if self._streams[broker].incarnation != incarnation_of(broker):
                self.departed(broker, out)
                del self._streams[broker]

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Probe streams on which nothing moves."""
        for broker, stream in self._streams.items():
            if stream.probe_at is not None and stream.probe_at <= now:
                stream.probe(now)
                self._resend(broker, stream, now, out)

    def next_deadline(self) -> Instant | None:
        """The next probe."""
        return earliest(*[stream.probe_at for stream in self._streams.values()])

    def check_invariants(self) -> None:
        """What counts as under way is what the streams hold, each message once."""
        held: dict[int, Transmission] = {}
        for stream in self._streams.values():
            held.update((id(each), each) for each in stream.transmissions())
        if self.unconfirmed_bytes != sum(each.size_bytes for each in held.values()):
            raise InvariantBroken(
                f"{self.unconfirmed_bytes} bytes count as under way, not those of the streams"
            )

    def unconfirmed_messages(self) -> dict[str, int]:
        """How many messages each receiving broker has not confirmed."""
        return {broker: len(stream) for broker, stream in self._streams.items()}
