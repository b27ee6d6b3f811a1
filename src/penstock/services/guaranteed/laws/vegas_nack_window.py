"""SDCC of the improved law: the NACK window that TCP Vegas would have.

The paper compares the recovery rate with itself a moment ago (equation 10), which limits the
window near ten units whatever the network: too little for a long link, where ten units are under
way before the first is answered.  This window measures how much waits on the way.

1. The shortest round trip of a recovery is that of an empty network.  ``window * (1 - shortest /
   round trip)`` of the requested ticks wait in queues; the rest is on its way over the links.
2. Once in a round trip the window becomes what is on its way, and ``1 / nack_increase`` units that
   may wait (the rule of FAST TCP): as many as the paper's window holds on a network without delay,
   so a short congested link carries the same load.  It opens and closes by one unit at most, as in
   the paper, and doubles while nothing waits and answers bring what it allows.  A window that is
   not used does not open: answers from a relay's memory come at once, and the first that does not
   would find a window far too wide.  An answer that stopped at its limit of bytes has used it.
3. The round trip is that of the slowest answer since the last decision: a window that has just
   doubled must not double again before its own answers are there.
4. While less than a unit waits, the network is not the limit of this recovery.
5. Every recovery starts with the initial window, and measures the shortest round trip anew: the way
   may have changed.
6. An answer that was lost found a queue full: the window halves, once in a round trip, and no
   longer doubles beyond that size in this recovery but opens by one unit (the slow-start threshold
   of TCP).  Before the round trip is known, a repeated request proves nothing.
7. Where a stream is dense, the window is no wider than what the receive window holds in bytes, by
   the density of the answers since the last decision: what lies beyond would be requested in vain.
8. An answer has at most ``UNIT_BYTES`` for every unit of the window: a unit of a dense stream may
   hold more than the queues on the way.  The time until such an answer stopped is a round trip too;
   those of whole units come seldom then.
9. Round trips that differ by less than ``NOISE_NS`` are the same: what waits for so short a time
   waits for a processor, or for the pacing of a link.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.nack_window import NackAnswer

NOISE_NS: Final[Duration] = 20 * MILLISECOND
"""Two time slices of an operating system's scheduler on each side of a connection."""


UNIT_BYTES: Final = 32 << 10
"""A unit of 100 ms of a stream of 300 kB/s; ten of them wait in the network at most."""


class VegasNackWindow:
    """Opens until a fixed amount of what was requested waits in the network."""

    __slots__ = (
        "_answered_bytes",
        "_answered_span",
        "_decide_at",
        "_doubles_below",
        "_largest",
        "_largest_bytes",
        "_lost",
        "_may_wait",
        "_round_trip",
        "_shortest",
        "_size",
        "_smallest",
        "_unit",
        "_used",
        "_waiting",
    )

    def __init__(
        self,
        parameters: CongestionParameters,
        *,
        unit: Duration,
        largest: Duration,
        largest_bytes: int,
    ) -> None:
        """``unit`` is size_NACK, ``largest`` and ``largest_bytes`` the receive window."""
        self._unit: Final = unit
        self._largest_bytes: Final = largest_bytes
        self._largest: Final = largest
        self._smallest: Final = parameters.nack_window_initial_ns
        self._may_wait: Final = round(unit / parameters.nack_increase)
        self._size = self._smallest
        self._shortest: Duration | None = None
        self._round_trip: Duration = 0
        """The longest one since the last decision."""
        self._waiting = 0
        self._lost = False
        self._used = False
        self._answered_span: Duration = 0
        self._answered_bytes = 0
        self._doubles_below = largest
        self._decide_at: Instant = 0

    @property
    def size_ns(self) -> Duration:
        """The size at present, in ticks."""
        return self._size

    @property
    def piece_bytes(self) -> int:
        """A window of one unit may bring ``UNIT_BYTES``, a wider one as many times more."""
        return max(1, UNIT_BYTES * self._size // self._unit)

    @property
    def waits_for_the_network(self) -> bool:
        """Whether at least a unit of what was requested waits on the way."""
        return self._waiting >= self._unit

    def recovery_began(self) -> None:
        self._size = self._smallest
        self._shortest = None
        self._round_trip = self._waiting = self._decide_at = 0
        self._lost = False
        self._doubles_below = self._largest

    def answered(self, answer: NackAnswer) -> None:
        """Decide once in a round trip."""
        if answer.repeated and self._shortest is not None:
            self._lost = True
        self._answered_span += answer.span
        self._answered_bytes += answer.count_bytes
        self._used = self._used or answer.more or 2 * self._answered_span >= self._size
        latest = answer.latest_round_trip if answer.took is None else answer.took
        if latest is None:
            return
        if self._shortest is None or latest < self._shortest:
            self._shortest = latest
        self._round_trip = max(self._round_trip, latest)
        if answer.now < self._decide_at:
            return
        round_trip, self._round_trip = self._round_trip, 0
        self._decide_at = answer.now + round_trip
        late = max(0, round_trip - self._shortest - NOISE_NS)
        self._waiting = self._size * late // max(1, round_trip)
        self._resize(self._next_size())

    def _next_size(self) -> Duration:
        if self._lost:
            self._lost = False
            self._doubles_below = self._size // 2
            return self._doubles_below
        if not self.waits_for_the_network:
            if not self._used:
                return self._size
            doubled = min(2 * self._size, self._doubles_below)
            return max(doubled, self._size + self._unit)
        fitting = self._size - self._waiting + self._may_wait
        step = max(-self._unit, min(self._unit, fitting - self._size))
        return self._size + step

    def _resize(self, size: Duration) -> None:
        largest = self._largest
        if self._answered_bytes:
            fitting = self._largest_bytes * self._answered_span // self._answered_bytes
            largest = min(largest, fitting)
        self._answered_span = self._answered_bytes = 0
        self._used = False
        self._size = max(self._smallest, min(largest, size))
