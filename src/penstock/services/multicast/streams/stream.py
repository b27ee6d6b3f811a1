"""The stream of messages from one broker to another, at both of its ends.

1. The origin numbers the messages to each receiver.  Every message carries its number and the
   *floor*, below which everything is confirmed.
2. The receiver delivers messages to its members in order of number, each once, and confirms the
   position that it has reached.  A message that comes too early waits; a repeated one is dropped.
3. Links lose nothing while they are up.  Messages lost with a broken link, an overflowed queue or
   a crashed broker are repeated by the origin: when the path to the receiver changed, when the
   receiver reports a gap, and when nothing was confirmed for long.
4. In such a recovery the origin repeats ``RECOVERY_BYTES``, and more as the receiver confirms, so
   that a recovery never floods the new path.
5. A receiver that cannot be reached keeps its place until ``departure_ns`` have passed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

import msgspec

from penstock.core.clock import SECOND, Duration, Instant
from penstock.core.machine import LinkName
from penstock.services.multicast.groups.route import GroupRoute
from penstock.services.multicast.messages import Multicast, SendToGroups

HEAD_BYTES: Final = 160
"""What a message takes on a link beside its rows: envelope, names, three receivers."""

RECOVERY_BYTES: Final = 64 << 10
"""A quarter of a second at 2 Mbit/s."""

FIRST_PROBE_NS: Final[Duration] = 2 * SECOND
LONGEST_PROBE_NS: Final[Duration] = 16 * SECOND
"""After this time without any confirmation the oldest message is repeated; the wait doubles each
time.  It is longer than the largest buffer that a price allows takes to drain on a slow link."""

ROUND_TRIP_WEIGHT: Final = 0.125
"""As in TCP's smoothed round trip."""


class Bought(msgspec.Struct, frozen=True, gc=False):
    """A message that its sender has paid for."""

    request: SendToGroups
    session: LinkName
    size_bytes: int
    route: GroupRoute
    paid: float
    named: tuple[int, ...]
    """The prices of its tree (``prices.names``)."""
    waited_ns: Duration


class Transmission:
    """A message on its way, until every receiver has confirmed it."""

    __slots__ = ("message", "pending", "receivers", "session", "size_bytes", "waited_ns")

    def __init__(
        self,
        message: Multicast,
        session: LinkName,
        size_bytes: int,
        waited_ns: Duration,
    ) -> None:
        """``session`` gets the receipt."""
        self.message = message
        self.session = session
        self.size_bytes = size_bytes
        self.waited_ns = waited_ns
        self.receivers = 0
        self.pending: dict[str, None] = {}


class OutgoingStream:
    """The origin's end."""

    __slots__ = (
        "_probe_ns",
        "_resent_to",
        "_unconfirmed",
        "floor",
        "incarnation",
        "next_position",
        "path",
        "probe_at",
        "recover_to",
        "round_trip_ns",
        "unreachable_since",
    )

    def __init__(self, incarnation: int) -> None:
        """``incarnation`` is the receiver's."""
        self.incarnation = incarnation
        self.floor = 1
        self.next_position = 1
        self.path: tuple[str, ...] = ()
        self.unreachable_since: Instant | None = None
        self.round_trip_ns: Duration = 0
        self.recover_to = 0
        self.probe_at: Instant | None = None
        self._resent_to = 0
        self._probe_ns = FIRST_PROBE_NS
        self._unconfirmed: deque[tuple[int, Transmission, Instant]] = deque()

    def __len__(self) -> int:
        """The number of unconfirmed messages."""
        return len(self._unconfirmed)

    def append(self, transmission: Transmission, now: Instant) -> int:
        """Add a message for this receiver; return its number."""
        position = self.next_position
        self.next_position += 1
        self._unconfirmed.append((position, transmission, now))
        if self.probe_at is None:
            self.probe_at = now + self._probe_ns
        return position

    def confirmed(self, position: int, held_ns: Duration, now: Instant) -> list[Transmission]:
        """Remove everything below ``position``, which has arrived; return what was removed."""
        done: list[Transmission] = []
        sent_at: Instant | None = None
        while self._unconfirmed and self._unconfirmed[0][0] < position:
            at, transmission, sent_at = self._unconfirmed.popleft()
            self.floor = at + 1
            done.append(transmission)
        if done:
            self._probe_ns = FIRST_PROBE_NS
            self.probe_at = now + self._probe_ns if self._unconfirmed else None
            if sent_at is not None and position > self.recover_to:
                sample = max(now - sent_at - held_ns, 0)
                weight = ROUND_TRIP_WEIGHT if self.round_trip_ns else 1.0
                self.round_trip_ns += round(weight * (sample - self.round_trip_ns))
        return done

    def recover(self) -> None:
        """Repeat everything unconfirmed, piece by piece: it may have been lost."""
        if self._unconfirmed:
            self.recover_to = self.next_position
            self._resent_to = self.floor

    def missing(self, position: int, seen: int) -> None:
        """Repeat what lies in the receiver's gap, if there is one."""
        if position < seen and self._unconfirmed and self.recover_to <= position:
            self.recover_to = min(seen, self.next_position)
            self._resent_to = position

    def probe(self, now: Instant) -> None:
        """Repeat the oldest message, because nothing was confirmed for long."""
        self._probe_ns = min(2 * self._probe_ns, LONGEST_PROBE_NS)
        self.probe_at = now + self._probe_ns if self._unconfirmed else None
        if self._unconfirmed:
            self.recover_to = max(self.recover_to, self.floor + 1)
            self._resent_to = self.floor

    def resend(self) -> Iterator[tuple[int, Transmission]]:
        """What to repeat now: at most one piece beyond what was confirmed."""
        room = RECOVERY_BYTES
        for position, transmission, _ in self._unconfirmed:
            if position >= self.recover_to or room <= 0:
                return
            room -= transmission.size_bytes
            if position >= self._resent_to:
                self._resent_to = position + 1
                yield position, transmission

    def transmissions(self) -> list[Transmission]:
        """The unconfirmed messages."""
        return [transmission for _, transmission, _ in self._unconfirmed]

    def abandon(self) -> list[Transmission]:
        """Give up everything unconfirmed, because the receiver has left; return it."""
        given_up = self.transmissions()
        self._unconfirmed.clear()
        self.floor = self.next_position
        self.probe_at = None
        return given_up


class IncomingStream:
    """The receiver's end."""

    __slots__ = (
        "_early",
        "_early_bytes",
        "confirmed",
        "confirmed_at",
        "expected",
        "fresh_bytes",
        "incarnation",
        "newest_at",
        "seen",
    )

    def __init__(self, incarnation: int, floor: int) -> None:
        """``incarnation`` is the origin's; nothing below ``floor`` will come."""
        self.incarnation = incarnation
        self.expected = floor
        self.seen = floor
        self.confirmed = floor
        self.confirmed_at: Instant = 0
        self.newest_at: Instant = 0
        self.fresh_bytes = 0
        self._early: dict[int, tuple[Multicast, int]] = {}
        self._early_bytes = 0

    def arrived(self, position: int, message: Multicast, size_bytes: int, limit_bytes: int) -> bool:
        """Keep a message until its turn; False if it is a repetition or there is no room."""
        if position < self.expected or position in self._early:
            return False
        if self._early and self._early_bytes + size_bytes > limit_bytes:
            return False
        self._early[position] = (message, size_bytes)
        self._early_bytes += size_bytes
        self.seen = max(self.seen, position + 1)
        return True

    def skip_to(self, floor: int) -> None:
        """Skip what the origin has given up."""
        if floor > self.expected and self.expected not in self._early:
            self.expected = floor
            self.seen = max(self.seen, floor)

    def head(self) -> Multicast | None:
        """The next message in order, if it has arrived."""
        found = self._early.get(self.expected)
        return None if found is None else found[0]

    def advance(self) -> None:
        """Remove the head, which was delivered."""
        _, size_bytes = self._early.pop(self.expected)
        self._early_bytes -= size_bytes
        self.fresh_bytes += size_bytes
        self.expected += 1

    @property
    def gap(self) -> bool:
        """Whether messages are missing before one that has arrived."""
        return self.seen > self.expected and self.expected not in self._early
