"""The streams that end at this broker: messages for its members.

1. Each origin's stream is delivered in order, while every addressed member has room.
2. The sender's own numbers reveal a repetition: a client that lost its broker repeats what has no
   receipt through another broker, and each number is delivered once.
3. A confirmation is sent at once if the last one is ``CONFIRM_NS`` old or if there is a gap, and
   otherwise when ``CONFIRM_BYTES`` have arrived or ``CONFIRM_NS`` have passed.  A stream from this
   broker itself is always confirmed at once: its senders wait for receipts, and no link is used.

The methods return the confirmations; ``exchange`` sends them.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import Instant
from penstock.core.machine import Effect, InvariantBroken
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.messages import Destination, Multicast, Reception
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.streams.confirmations import CONFIRM_NS
from penstock.services.multicast.streams.stream import IncomingStream

CONFIRM_BYTES: Final = 256 << 10

MAX_REMEMBERED_SENDERS: Final = 100_000
"""Senders whose numbers are kept; the one that was silent longest is forgotten first."""


class Inbound:
    """All streams that end at this broker."""

    def __init__(
        self,
        broker: str,
        incarnation: int,
        parameters: MulticastParameters,
        members: Members,
    ) -> None:
        self._broker = broker
        self._stamp = incarnation & 0xFFFF_FFFF
        self._parameters = parameters
        self._members = members
        self._streams: dict[str, IncomingStream] = {}
        self._unconfirmed: dict[str, None] = {}
        self._confirm_at: Instant | None = None
        self._held: dict[str, None] = {}
        self._next_of_sender: dict[str, int] = {}
        self.delivered_rows = 0
        self.repeated_rows = 0

    def arrived(
        self, message: Multicast, destination: Destination, now: Instant, out: list[Effect]
    ) -> Reception | None:
        """Deliver a message to the members here, in order; return the confirmation if it is due."""
        if destination.stamp != self._stamp:
            return None
        stream = self._streams.get(message.origin)
        if stream is None or stream.incarnation < message.incarnation:
            stream = IncomingStream(message.incarnation, destination.floor)
            self._streams[message.origin] = stream
        elif stream.incarnation > message.incarnation:
            return None
        stream.skip_to(destination.floor)
        limit_bytes = 2 * self._parameters.window_bytes
        size_bytes = message.batch.wire_size
        if stream.arrived(destination.position, message, size_bytes, limit_bytes):
            stream.newest_at = now
        self._deliver(message.origin, stream, now, out)
        # A repetition is confirmed too: the earlier confirmation may have been lost.
        self._unconfirmed[message.origin] = None
        due = message.origin == self._broker or now - stream.confirmed_at >= CONFIRM_NS
        if stream.gap or due or stream.fresh_bytes >= CONFIRM_BYTES:
            return self._confirmation(message.origin, now)
        if self._confirm_at is None:
            self._confirm_at = now + CONFIRM_NS
        return None

    def _deliver(
        self, origin: str, stream: IncomingStream, now: Instant, out: list[Effect]
    ) -> None:
        while (message := stream.head()) is not None:
            if not self._members.room_for(message.groups, now):
                self._held[origin] = None
                return
            stream.advance()
            fresh = self._without_repetition(message)
            if fresh is not None:
                self._members.deliver(fresh, out)
        self._held.pop(origin, None)

    def _without_repetition(self, message: Multicast) -> Multicast | None:
        """The message if its numbers are new; the rows of one message always stay together."""
        sender, end = message.sender, message.first_sequence + len(message.batch)
        known = self._next_of_sender.pop(sender, 0)
        self._next_of_sender[sender] = max(known, end)
        if len(self._next_of_sender) > MAX_REMEMBERED_SENDERS:
            del self._next_of_sender[next(iter(self._next_of_sender))]
        if message.first_sequence < known:
            self.repeated_rows += len(message.batch)
            return None
        self.delivered_rows += len(message.batch)
        return message

    def held_origins(self) -> list[str]:
        """The origins whose streams wait for a member without room."""
        return list(self._held)

    def resume(self, origin: str, now: Instant, out: list[Effect]) -> Reception:
        """Continue a stream that waited for a member; return the confirmation."""
        self._deliver(origin, self._streams[origin], now, out)
        return self._confirmation(origin, now)

    # -- confirmations ----------------------------------------------------------------------

    def deadline(self, now: Instant) -> list[Reception]:
        """The confirmations that have waited long enough."""
        if self._confirm_at is None or self._confirm_at > now:
            return []
        self._confirm_at = None
        return [self._confirmation(origin, now) for origin in list(self._unconfirmed)]

    def _confirmation(self, origin: str, now: Instant) -> Reception:
        stream = self._streams[origin]
        self._unconfirmed.pop(origin, None)
        stream.fresh_bytes = 0
        stream.confirmed = stream.expected
        stream.confirmed_at = now
        # Messages that wait for a member without room are not missing.
        seen = stream.seen if stream.gap else stream.expected
        held_ns = now - stream.newest_at
        return Reception(origin, stream.incarnation, self._broker, stream.expected, seen, held_ns)

    def next_deadline(self) -> Instant | None:
        return self._confirm_at

    @property
    def held_streams(self) -> int:
        """The number of streams that wait for a member without room."""
        return len(self._held)

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` unless all that was confirmed was delivered and seen."""
        for origin, stream in self._streams.items():
            if not stream.confirmed <= stream.expected <= stream.seen:
                raise InvariantBroken(
                    f"stream from {origin}: confirmed {stream.confirmed}, delivered "
                    f"{stream.expected}, seen {stream.seen}"
                )
