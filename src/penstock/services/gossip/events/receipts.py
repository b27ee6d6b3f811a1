"""The share of the published events that a peer receives, from the gaps in what it received.

Nobody tells a peer what it missed, but an origin numbers its events.

1. When an event of an origin arrives, its number and every number between it and the highest
   known before are *noticed*.  Those in between are missing so far; a late arrival fills the gap.
2. After ``SETTLE_ROUNDS`` what was noticed in a round is judged: received or missed.
3. The share received is a moving average over the judged; beside it goes, with the same weights,
   the average of the share that the copies counted when they were noticed should have covered.

An origin's first event opens its account, so a peer that joins misses nothing before.  The number
of origins, of gaps opened by one arrival and of numbers missing at a time are bounded: somebody who
invents sequence numbers costs a bounded amount of memory and of reputation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from penstock.services.gossip.laws.averages import moving_average
from penstock.services.gossip.laws.improved_rate import copies_needed, share_reached
from penstock.services.gossip.messages import ORIGIN_BYTES, SEQUENCE_BYTES, EventId

SETTLE_ROUNDS: Final = 6
"""A gap shows when a later event overtakes; copies of the same event spread over fewer rounds."""

ORIGINS_LIMIT: Final = 4096
GAPS_FOR_EACH_ARRIVAL: Final = 16
MISSING_LIMIT: Final = 8192

MOST_EXPECTED: Final = 0.9999
"""More is all: the copies for it would be infinite."""

from_bytes = int.from_bytes

JUDGED_WEIGHT: Final = 0.998
"""α for each judged event: an average over 500 of them, whose error at 95 % is 0.7 %."""


class ReceiptEstimate:
    """What one peer knows about what it missed."""

    __slots__ = (
        "_expected",
        "_expected_then",
        "_highest",
        "_missing",
        "_missing_count",
        "_noticed",
        "share",
    )

    def __init__(self, initial_share: float, initial_copies: float) -> None:
        """Nothing was judged yet."""
        self.share = initial_share
        expected = float(share_reached(initial_copies))
        self._expected = expected
        self._expected_then: deque[float] = deque([expected] * SETTLE_ROUNDS)
        self._highest: dict[bytes, int] = {}
        self._noticed: deque[int] = deque([0] * SETTLE_ROUNDS)
        self._missing: deque[dict[EventId, None]] = deque({} for _ in range(SETTLE_ROUNDS))
        self._missing_count = 0

    @property
    def copies_then(self) -> float:
        """The copies that cover what the copies of the judged events should have covered."""
        return float(copies_needed(min(self._expected, MOST_EXPECTED)))

    def arrived(self, identifiers: Iterable[EventId]) -> None:
        """New events came."""
        highest_of = self._highest
        noticed = 0
        for identifier in identifiers:
            origin = identifier[:ORIGIN_BYTES]
            sequence = from_bytes(identifier[ORIGIN_BYTES:], "big")
            highest = highest_of.get(origin)
            if highest is None:
                self._open_account(origin, sequence)
            elif sequence <= highest:
                self._fill_gap(identifier)
            else:
                highest_of[origin] = sequence
                noticed += 1
                if sequence > highest + 1:
                    noticed += self._open_gap(origin, highest + 1, sequence)
        self._noticed[-1] += noticed

    def _open_account(self, origin: bytes, sequence: int) -> None:
        if len(self._highest) >= ORIGINS_LIMIT:
            del self._highest[next(iter(self._highest))]
        self._highest[origin] = sequence

    def _open_gap(self, origin: bytes, first: int, end: int) -> int:
        """Note that the numbers of ``[first, end)`` are missing so far; how many were noted."""
        first = max(first, end - GAPS_FOR_EACH_ARRIVAL)
        present = self._missing[-1]
        for sequence in range(first, end):
            if self._missing_count >= MISSING_LIMIT:
                return sequence - first
            self._missing_count += 1
            present[origin + sequence.to_bytes(SEQUENCE_BYTES, "big")] = None
        return end - first

    def next_round(self, copies: float) -> None:
        """Judge what was noticed ``SETTLE_ROUNDS`` ago; ``copies`` is the present count."""
        expected = self._expected_then.popleft()
        self._expected_then.append(float(share_reached(copies)))
        judged, missed = self._noticed.popleft(), len(self._missing.popleft())
        self._noticed.append(0)
        self._missing.append({})
        self._missing_count -= missed
        if judged:
            received = 1.0 - missed / judged
            self.share = float(moving_average(self.share, received, JUDGED_WEIGHT, judged))
            then = moving_average(self._expected, expected, JUDGED_WEIGHT, judged)
            self._expected = float(then)

    def _fill_gap(self, identifier: EventId) -> None:
        for noticed in self._missing:
            if identifier in noticed:
                del noticed[identifier]
                self._missing_count -= 1
                return
