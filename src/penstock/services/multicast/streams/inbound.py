"""Messages that arrive for the members of this broker.

1. Each origin's stream is handed over in order, as long as every member addressed has room.
2. A sender's own numbers tell a repetition: a client that lost its broker sends what has no receipt
   again, through another one, and each number is handed over once.
3. A confirmation is sent at once after a silence of ``CONFIRM_NS`` and if something is missing,
   otherwise when ``CONFIRM_BYTES`` have come or ``CONFIRM_NS`` have passed.  To this broker itself,
   whose senders wait for their receipts, it costs no link anything and never waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.core.machine import Effect, InvariantBroken
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.messages import Destination, Multicast, MulticastReceived
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.streams.stream import IncomingStream

CONFIRM_BYTES: Final = 256 << 10
CONFIRM_NS: Final[Duration] = 50 * MILLISECOND
"""Twenty confirmations a second from each receiving broker at most, as often as prices."""

MAX_REMEMBERED_SENDERS: Final = 100_000
"""Senders whose numbers are remembered; the one that was silent longest is forgotten first."""

Confirm = Callable[[MulticastReceived, Instant, list[Effect]], None]


class Inbound:
    """All streams that end at this broker."""

    def __init__(
        self,
        broker: str,
        incarnation: int,
        parameters: MulticastParameters,
        members: Members,
        confirm: Confirm,
    ) -> None:
        """Nothing has arrived."""
        self._broker = broker
        self._stamp = incarnation & 0xFFFF_FFFF
        self._parameters = parameters
        self._members = members
        self._confirm = confirm
        self._streams: dict[str, IncomingStream] = {}
        self._unconfirmed: dict[str, None] = {}
        self._confirm_at: Instant | None = None
        self._held: dict[str, None] = {}
        self._next_of_sender: dict[str, int] = {}
        self.delivered_rows = 0
        self.repeated_rows = 0

    def arrived(
        self, message: Multicast, destination: Destination, now: Instant, out: list[Effect]
    ) -> None:
        """A message for members here."""
        if destination.stamp != self._stamp:
            return
        stream = self._streams.get(message.origin)
        if stream is None or stream.incarnation < message.incarnation:
            stream = IncomingStream(message.incarnation, destination.floor)
            self._streams[message.origin] = stream
        elif stream.incarnation > message.incarnation:
            return
        stream.skip_to(destination.floor)
        limit_bytes = 2 * self._parameters.window_bytes
        size_bytes = message.batch.wire_size
        if stream.arrived(destination.position, message, size_bytes, limit_bytes):
            stream.newest_at = now
        self._hand_over(message.origin, stream, now, out)
        # Also a repetition is confirmed: the confirmation may have been lost.
        self._unconfirmed[message.origin] = None
        due = message.origin == self._broker or now - stream.confirmed_at >= CONFIRM_NS
        if stream.gap or due or stream.fresh_bytes >= CONFIRM_BYTES:
            self._say(message.origin, now, out)
        elif self._confirm_at is None:
            self._confirm_at = now + CONFIRM_NS

    def _hand_over(
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
        """The message if its numbers are new; the rows of one message are sent together, always."""
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

    def room_made(self, now: Instant, out: list[Effect]) -> None:
        """A member has room again: what waited for it goes on."""
        for origin in list(self._held):
            stream = self._streams[origin]
            self._hand_over(origin, stream, now, out)
            self._unconfirmed[origin] = None
            self._say(origin, now, out)

    # -- confirmations ----------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Confirm what has waited long enough."""
        if self._confirm_at is not None and self._confirm_at <= now:
            self._confirm_at = None
            for origin in list(self._unconfirmed):
                self._say(origin, now, out)

    def _say(self, origin: str, now: Instant, out: list[Effect]) -> None:
        stream = self._streams[origin]
        self._unconfirmed.pop(origin, None)
        stream.fresh_bytes = 0
        stream.confirmed = stream.expected
        stream.confirmed_at = now
        # What waits for a member that has no room is not missing.
        seen = stream.seen if stream.gap else stream.expected
        held_ns = now - stream.newest_at
        confirmation = MulticastReceived(
            origin, stream.incarnation, self._broker, stream.expected, seen, held_ns
        )
        self._confirm(confirmation, now, out)

    def next_deadline(self) -> Instant | None:
        """The next confirmation."""
        return self._confirm_at

    @property
    def held_streams(self) -> int:
        """How many streams wait for a member that does not read."""
        return len(self._held)

    def check_invariants(self) -> None:
        """What was confirmed was handed over, and what was handed over has been seen."""
        for origin, stream in self._streams.items():
            if not stream.confirmed <= stream.expected <= stream.seen:
                raise InvariantBroken(
                    f"stream from {origin}: confirmed {stream.confirmed}, handed over "
                    f"{stream.expected}, seen {stream.seen}"
                )
