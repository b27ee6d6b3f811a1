"""The streams that begin at this broker: messages of its clients to every broker with members.

A transmission is one message and the receivers that have not confirmed it.  The client gets its
receipt when the last of them has confirmed or left; from then on no crash can lose the message for
a member that stays.  The methods return the messages to send; ``exchange`` sends them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

import msgspec

from penstock.core.clock import Duration, Instant, earliest
from penstock.core.machine import Effect, InvariantBroken, Priority, Send
from penstock.core.trees import Topology
from penstock.services.multicast.groups.route import path_to
from penstock.services.multicast.messages import (
    Destination,
    GroupSendReceipt,
    Multicast,
    Reception,
)
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.streams.stream import Bought, OutgoingStream, Transmission

STAMP_MASK = 0xFFFF_FFFF


class Incarnations(Protocol):
    """Knows which incarnation of a broker its members belong to."""

    def incarnation(self, broker: str) -> int: ...


class Outbound:
    """All streams that begin at this broker."""

    def __init__(
        self, broker: str, incarnation: int, parameters: MulticastParameters, topology: Topology
    ) -> None:
        """``topology`` is kept up to date by the broker."""
        self._broker = broker
        self._incarnation = incarnation
        self._parameters = parameters
        self._topology = topology
        self._streams: dict[str, OutgoingStream] = {}
        self._settled = False
        self.unconfirmed_bytes = 0

    def has_room(self) -> bool:
        """Whether the window has room for one more message."""
        return self.unconfirmed_bytes < self._parameters.window_bytes

    def take_settled(self) -> bool:
        """Whether a message was settled, and so left the window, since the last call."""
        settled, self._settled = self._settled, False
        return settled

    def round_trip_ns(self, brokers: Iterable[str]) -> Duration:
        """The longest measured round trip to any of these brokers."""
        streams = (self._streams.get(broker) for broker in brokers)
        return max((each.round_trip_ns for each in streams if each is not None), default=0)

    def transmit(
        self, bought: Bought, incarnations: Mapping[str, int], now: Instant, out: list[Effect]
    ) -> Multicast | None:
        """Number a message for each receiving broker; None if there is none, and it is settled."""
        streams = {
            broker: self._stream(broker, incarnation, now)
            for broker, incarnation in incarnations.items()
        }
        request = bought.request
        message = Multicast(
            self._broker,
            self._incarnation,
            request.producer,
            request.first_sequence,
            request.groups,
            tuple(
                [
                    self._destination(broker, stream, stream.next_position)
                    for broker, stream in streams.items()
                ]
            ),
            bought.paid,
            bought.named,
            0,
            request.batch,
        )
        size_bytes = bought.size_bytes
        transmission = Transmission(message, bought.session, size_bytes, bought.waited_ns)
        transmission.pending = dict.fromkeys(streams)
        transmission.receivers = len(streams)
        for stream in streams.values():
            stream.append(transmission, now)
        self.unconfirmed_bytes += size_bytes
        if streams:
            return message
        self._settle(transmission, out)
        return None

    def _stream(self, broker: str, incarnation: int, now: Instant) -> OutgoingStream:
        stream = self._streams.get(broker)
        if stream is None:
            stream = self._streams[broker] = OutgoingStream(incarnation)
            stream.path = path_to(self._broker, broker, self._topology.parents(self._broker))
            if not stream.path:
                stream.unreachable_since = now
        return stream

    @staticmethod
    def _destination(broker: str, stream: OutgoingStream, position: int) -> Destination:
        return Destination(broker, stream.incarnation & STAMP_MASK, position, stream.floor)

    # -- confirmations ----------------------------------------------------------------------

    def received(self, message: Reception, now: Instant, out: list[Effect]) -> list[Multicast]:
        """Take in a receiver's confirmation; return the messages to repeat."""
        stream = self._streams.get(message.receiver)
        if stream is None or message.incarnation != self._incarnation:
            return []
        for transmission in stream.confirmed(message.position, message.held_ns, now):
            self._confirmed(transmission, message.receiver, out)
        stream.missing(message.position, message.seen)
        return list(self._repeated(message.receiver, stream))

    def _confirmed(self, transmission: Transmission, receiver: str, out: list[Effect]) -> None:
        transmission.pending.pop(receiver, None)
        if not transmission.pending:
            self._settle(transmission, out)

    def _settle(self, transmission: Transmission, out: list[Effect]) -> None:
        self.unconfirmed_bytes -= transmission.size_bytes
        self._settled = True
        message = transmission.message
        receipt = GroupSendReceipt(
            message.sender,
            message.first_sequence,
            len(message.batch),
            transmission.receivers,
            transmission.waited_ns,
        )
        out.append(Send(transmission.session, receipt, Priority.CONTROL))

    def _repeated(self, broker: str, stream: OutgoingStream) -> Iterator[Multicast]:
        if stream.unreachable_since is not None:
            return
        for position, transmission in stream.resend():
            destination = self._destination(broker, stream, position)
            yield msgspec.structs.replace(transmission.message, destinations=(destination,))

    # -- changes of the overlay -------------------------------------------------------------

    def routes_changed(self, now: Instant) -> list[Multicast]:
        """Repeat what was under way on a path that has changed; return those messages."""
        repeated: list[Multicast] = []
        parents = self._topology.parents(self._broker)
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
            repeated += self._repeated(broker, stream)
        return repeated

    def departed(self, broker: str, out: list[Effect]) -> None:
        """Give up what a broker has not confirmed: its members have left.

        The stream stays, and continues if they return.
        """
        stream = self._streams.get(broker)
        if stream is not None:
            for transmission in stream.abandon():
                self._confirmed(transmission, broker, out)

    def forget_restarted(self, groups: Incarnations, out: list[Effect]) -> None:
        """Give up the streams to brokers that were restarted: their members have changed."""
        for broker in list(self._streams):
            if self._streams[broker].incarnation != groups.incarnation(broker):
                self.departed(broker, out)
                del self._streams[broker]

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant) -> list[Multicast]:
        """Probe streams without progress; return the messages to repeat."""
        repeated: list[Multicast] = []
        for broker, stream in self._streams.items():
            if stream.probe_at is not None and stream.probe_at <= now:
                stream.probe(now)
                repeated += self._repeated(broker, stream)
        return repeated

    def next_deadline(self) -> Instant | None:
        return earliest(*[stream.probe_at for stream in self._streams.values()])

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` unless the window counts what the streams hold."""
        held: dict[int, Transmission] = {}
        for stream in self._streams.values():
            held.update((id(each), each) for each in stream.transmissions())
        if self.unconfirmed_bytes != sum(each.size_bytes for each in held.values()):
            raise InvariantBroken(
                f"the window counts {self.unconfirmed_bytes} bytes, the streams hold others"
            )

    def unconfirmed_messages(self) -> dict[str, int]:
        """The number of messages that each receiving broker has not confirmed."""
        return {broker: len(stream) for broker, stream in self._streams.items()}
