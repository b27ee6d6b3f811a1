"""Confirmations on links that are full: joined, and at most a small share of the link.

A confirmation takes about 70 bytes, and a stream has twenty a second.  On a link of 20 kB/s those
of a few streams would take a quarter of what the messages in their direction could use.

1. On a free link, on which nothing waits and which costs nothing, a confirmation goes at once.
2. On any other link confirmations wait.  A later one of the same stream replaces an earlier one,
   because it includes it.  All that wait go in one frame.
3. Messages on the link earn credit: ``SHARE`` of their bytes.  The frame goes when the credit pays
   for it and ``CONFIRM_NS`` have passed since the last one; at the latest ``LONGEST_HOLD_NS`` after
   the first confirmation began to wait, so that senders get their receipts.
4. The time that a confirmation waited is added to its ``held_ns``, so round trips do not seem
   longer.
5. A confirmation that reports a gap goes at once: something must be repeated.

What is kept is one confirmation of each stream that crosses a full link, for ``LONGEST_HOLD_NS``.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from penstock.content.codec.size import encoded_size
from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.core.machine import LinkName
from penstock.mechanisms.deadlines import Deadlines
from penstock.services.multicast.messages import MulticastReceived, Reception

SHARE: Final = 1 / 32
"""Of what the messages on a full link take.  Three per cent is the difference between the median
that is asked of a law (0.97 of the optimum) and the optimum."""

CONFIRM_NS: Final[Duration] = 50 * MILLISECOND
"""At most twenty confirmations of a stream in a second, as many as prices of a link."""

LONGEST_HOLD_NS: Final[Duration] = 500 * MILLISECOND
"""As long as TCP may delay an acknowledgement (RFC 1122, section 4.2.3.2)."""

IDLE_CREDIT_BYTES: Final = 256
"""What a link keeps of its credit while nothing waits: for the confirmations of a few streams.
More would be spent at once after a pause."""

LEAST_BYTES: Final = 25
"""No confirmation is shorter: three short names and an incarnation."""

MOST_WAITING: Final = 1000
"""Streams whose confirmations wait for one link; then all of them go."""

StreamEnds: TypeAlias = tuple[str, str]
"""The origin and the receiver."""


class _Waiting:
    """The confirmations that wait for one link."""

    __slots__ = ("credit_bytes", "receptions", "sent_at")

    def __init__(self) -> None:
        self.receptions: dict[StreamEnds, tuple[Reception, Instant]] = {}
        self.credit_bytes = 0.0
        self.sent_at: Instant = 0

    def frame(self, now: Instant) -> MulticastReceived:
        """All that wait, with the time that they waited."""
        return MulticastReceived(
            tuple(
                [
                    msgspec.structs.replace(each, held_ns=each.held_ns + now - since)
                    for each, since in self.receptions.values()
                ]
            )
        )


class Confirmations:
    """The confirmations that this broker sends or passes on, by link."""

    def __init__(self) -> None:
        self._links: dict[LinkName, _Waiting] = {}
        self._go_at: Deadlines[LinkName] = Deadlines()

    def link_down(self, link: LinkName) -> None:
        """Forget what waits for a link; after a change of routes messages are repeated."""
        self._links.pop(link, None)
        self._go_at.set(link, None)

    def offer(
        self, link: LinkName, reception: Reception, now: Instant, *, link_is_free: bool
    ) -> MulticastReceived | None:
        """A confirmation for a link: the frame to send now, if any."""
        waiting = self._links.get(link)
        if waiting is None:
            waiting = self._links[link] = _Waiting()
        ends = (reception.origin, reception.receiver)
        # It waits anew: the time of an earlier one is not its own.
        waiting.receptions[ends] = (reception, now)
        if link not in self._go_at:
            self._go_at.set(link, now + LONGEST_HOLD_NS)
        gap = reception.position < reception.seen
        if link_is_free or gap or len(waiting.receptions) >= MOST_WAITING:
            return self._sent(link, waiting, waiting.frame(now), now)
        return self._paid(link, waiting, now)

    def message_sent(
        self, link: LinkName, size_bytes: int, now: Instant
    ) -> MulticastReceived | None:
        """A message was queued on a link, which earns credit: the frame to send now, if any."""
        waiting = self._links.get(link)
        if waiting is None:
            return None
        waiting.credit_bytes += SHARE * size_bytes
        if not waiting.receptions:
            waiting.credit_bytes = min(waiting.credit_bytes, IDLE_CREDIT_BYTES)
            return None
        return self._paid(link, waiting, now)

    def _paid(self, link: LinkName, waiting: _Waiting, now: Instant) -> MulticastReceived | None:
        if now - waiting.sent_at < CONFIRM_NS:
            return None
        if waiting.credit_bytes < LEAST_BYTES * len(waiting.receptions):
            return None
        frame = waiting.frame(now)
        if waiting.credit_bytes < encoded_size(frame):
            return None
        return self._sent(link, waiting, frame, now)

    def _sent(
        self, link: LinkName, waiting: _Waiting, frame: MulticastReceived, now: Instant
    ) -> MulticastReceived:
        waiting.credit_bytes = max(waiting.credit_bytes - encoded_size(frame), 0.0)
        waiting.sent_at = now
        waiting.receptions.clear()
        self._go_at.set(link, None)
        return frame

    def overdue(self, now: Instant) -> list[tuple[LinkName, MulticastReceived]]:
        """The frames that have waited long enough, by link."""
        found = []
        for link in self._go_at.pop_due(now):
            waiting = self._links[link]
            found.append((link, self._sent(link, waiting, waiting.frame(now), now)))
        return found

    def next_deadline(self) -> Instant | None:
        return self._go_at.earliest()
