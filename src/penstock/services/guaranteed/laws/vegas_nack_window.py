"""SDCC of the improved law: the NACK window that TCP Vegas would have.

The paper compares the recovery rate with itself a moment ago (equation 10), which limits the
window near ten units whatever the network: too little for a long link, where ten units are under
way before the first is answered.  This window measures how much waits on the way.

1. The shortest round trip over a number of links is that of an empty network.  ``window * (1 -
   shortest / round trip)`` of the requested ticks wait in queues; the rest is on its way over the
   links.  Answers from the memory of a near relay and answers of the source come over different
   numbers of links, and are not compared (``answer_round_trips``).
2. Once in a round trip the window moves half of the way to what is on its way, and ``1 /
   nack_increase`` units that may wait (the rule of FAST TCP): as many as the paper's window holds
   on a network without delay, so a short congested link carries the same load.  It doubles while
   nothing waits and answers bring what it allows.  A window that is not used does not open: answers
   from a relay's memory come at once, and the first that does not would find a window far too wide.
   An answer that stopped at its limit of bytes has used it.
3. The answers that count are the slowest since the last decision, and the one that waited longest:
   a window that has just doubled must not double again before its own answers are there.
4. While less than a unit waits, or less than ``LEAST_BYTES``, the network is not the limit of this
   recovery: where a stream is thin, a unit is less than one frame.
5. Every recovery starts with the initial window, unless answers still came ``RESUMED_WITHIN``
   before: then it is the same one that goes on.  The shortest round trips are those of this way to
   the source, and of the last ``FORGET_AFTER``: a recovery that begins finds the answers of others
   in the queues.
6. An answer that was lost found a queue full: the window halves, once in a round trip, and no
   longer doubles beyond that size in this recovery but opens by one unit (the slow-start threshold
   of TCP).  A request that was repeated too early was not lost, and before the round trip is known
   nobody can tell.
7. Where a stream is dense, the window is no wider than what the receive window holds in bytes, by
   the density of the answers since the last decision: what lies beyond would be requested in vain.
8. A unit of a dense stream may hold more than the queues on the way.  What waits is counted in
   units of ``UNIT_BYTES`` there, and an answer has at most as many bytes for every unit of the
   window.  The time until such an answer stopped is a round trip too; those of whole units come
   seldom then.
9. Round trips that differ by less than ``NOISE_NS`` are the same: what waits for so short a time
   waits for a processor, or for the pacing of a link.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, MINUTE, SECOND, Duration, Instant
from penstock.services.guaranteed.laws.answer_round_trips import ShortestRoundTrips
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.nack_window import NackAnswer

NOISE_NS: Final[Duration] = 20 * MILLISECOND
"""Two time slices of an operating system's scheduler on each side of a connection."""

UNIT_BYTES: Final = 32 << 10
"""A unit of 100 ms of a stream of 300 kB/s; ten of them wait in the network at most."""

LEAST_BYTES: Final = UNIT_BYTES // 2
"""A frame, and one of live data before it."""

FORGET_AFTER: Final[Duration] = MINUTE
"""A way may become longer without a sign; between two recoveries nothing is measured."""

RESUMED_WITHIN: Final[Duration] = 2 * SECOND
"""Longer than most round trips; also how long an edge is recovering after it ignored live data."""


class VegasNackWindow:
    """Opens until a fixed amount of what was requested waits in the network."""

    __slots__ = (
        "_answered_bytes",
        "_answered_span",
        "_decide_at",
        "_doubles_below",
        "_largest",
        "_largest_bytes",
        "_late",
        "_lost",
        "_measured_at",
        "_round_trip",
        "_shortest",
        "_size",
        "_smallest",
        "_unit",
        "_units",
        "_used",
        "_waiting",
        "_waiting_bytes",
        "_waiting_unit",
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
        self._units: Final = 1 / parameters.nack_increase
        """How many units may wait."""
        self._size = self._smallest
        self._shortest = ShortestRoundTrips()
        self._measured_at: Instant = -FORGET_AFTER
        self._round_trip: Duration = 0
        """The longest one since the last decision."""
        self._late: tuple[Duration, Duration] = (0, 0)
        """How long the answer waited that waited longest since then, and its round trip."""
        self._waiting: Duration = 0
        self._waiting_bytes = 0
        self._waiting_unit = unit
        """A unit, or less in a dense stream."""
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
        return self._waiting >= self._waiting_unit and self._waiting_bytes >= LEAST_BYTES

    def recovery_began(self, now: Instant) -> None:
        since = now - self._measured_at
        if since >= FORGET_AFTER:
            self._shortest.forget()
        if since >= RESUMED_WITHIN:
            self._begin()

    def path_changed(self) -> None:
        self._shortest.forget()
        self._begin()

    def _begin(self) -> None:
        self._size = self._smallest
        self._round_trip = self._waiting = self._waiting_bytes = self._decide_at = 0
        self._late = (0, 0)
        self._lost = False
        self._doubles_below = self._largest

    def answered(self, answer: NackAnswer) -> None:
        """Decide once in a round trip."""
        if answer.lost and len(self._shortest):
            self._lost = True
        self._answered_span += answer.span
        self._answered_bytes += answer.count_bytes
        self._used = self._used or answer.more or 2 * self._answered_span >= self._size
        latest = answer.latest_round_trip if answer.took is None else answer.took
        if latest is None:
            return
        self._measure(latest, answer)
        if answer.now < self._decide_at:
            return
        self._weigh()
        self._decide_at = answer.now + self._round_trip
        self._round_trip = 0
        self._resize(self._next_size())

    def _measure(self, latest: Duration, answer: NackAnswer) -> None:
        self._measured_at = answer.now
        late = self._shortest.excess(latest, answer.links, answer.now)
        self._late = max(self._late, (late, latest))
        self._round_trip = max(self._round_trip, latest)

    def _weigh(self) -> None:
        """How much waits of what is requested, by the answer that waited longest."""
        (late, round_trip), self._late = self._late, (0, 0)
        span, count_bytes = max(1, self._answered_span), self._answered_bytes
        self._waiting = self._size * max(0, late - NOISE_NS) // max(1, round_trip)
        self._waiting_bytes = self._waiting * count_bytes // span
        self._waiting_unit = self._unit
        if count_bytes:
            self._waiting_unit = max(1, min(self._unit, UNIT_BYTES * span // count_bytes))

    def _next_size(self) -> Duration:
        if self._lost:
            self._lost = False
            self._doubles_below = self._size // 2
            return self._doubles_below
        if not self.waits_for_the_network:
            doubled = min(2 * self._size, self._doubles_below)
            return max(doubled, self._size + self._unit) if self._used else self._size
        may_wait = round(self._waiting_unit * self._units)
        step = (may_wait - self._waiting) // 2
        return self._size + step if self._used else self._size + min(0, step)

    def _resize(self, size: Duration) -> None:
        largest = self._largest
        if self._answered_bytes:
            fitting = self._largest_bytes * self._answered_span // self._answered_bytes
            largest = min(largest, fitting)
        self._answered_span = self._answered_bytes = 0
        self._used = False
        self._size = max(self._smallest, min(largest, size))
