"""How far above the doubt horizon an edge may request unknown ticks.

The NACK window is separate from the receive window (Section 4): the receive window bounds memory,
the NACK window bounds the load that a recovering edge puts on the network.
"""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from penstock.core.clock import SECOND, Duration, Instant
from penstock.services.guaranteed.laws.answer_round_trips import ShortestRoundTrips
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters

MAX_UNITS: Final = 64
"""In how many pieces a NACK window is requested at most, unless its policy says otherwise."""


class NackAnswer(msgspec.Struct, frozen=True, gc=False):
    """What a policy is told about the answer to a request."""

    span: Duration
    """The length of the answered interval."""
    count_bytes: int
    more: bool
    """Whether the answer stopped at a limit."""
    round_trip: Duration | None
    """The smoothed round trip of requests; None before the first sample."""
    now: Instant
    latest_round_trip: Duration | None = None
    """The latest sample of the round trip; None before the first one."""
    repeated: bool = False
    """Whether a request was repeated since the answer before: it took longer than any time-out."""
    took: Duration | None = None
    """How long an answer took that stopped at a limit; None for others and for repetitions."""
    links: int = 0
    """Over how many links the answer came that ``took`` so long, or that of the latest sample: only
    round trips over as many links can be compared (``answer_round_trips``)."""
    round_trip_over_links: Duration | None = None
    """The smoothed round trip of answers that came over so many links."""
    lost: bool = False
    """Whether what a request asked for was lost: a repetition was answered, or sent again."""


class NackWindow(Protocol):
    """A policy for the size of the window."""

    @property
    def size_ns(self) -> Duration:
        """The size at present, in ticks."""
        ...

    @property
    def piece_bytes(self) -> int:
        """The most bytes that a piece may bring; 0 for a live stream, where the source decides."""
        ...

    @property
    def waits_for_the_network(self) -> bool:
        """Whether a wider window would not bring more: the network is the limit, not the window."""
        ...

    def recovery_began(self, now: Instant) -> None:
        """The edge has just entered recovery."""
        ...

    def path_changed(self) -> None:
        """The way to the source is another one, of which nothing is known yet."""
        ...

    def answered(self, answer: NackAnswer) -> None:
        """A request was answered."""
        ...


class FixedNackWindow:
    """Requests everything that fits the receive window: no recovery control."""

    __slots__ = ("_size",)

    def __init__(self, size: Duration) -> None:
        self._size = size

    @property
    def size_ns(self) -> Duration:
        """The size at present, in ticks."""
        return self._size

    @property
    def piece_bytes(self) -> int:
        """The source decides."""
        return 0

    @property
    def waits_for_the_network(self) -> bool:
        """It is never narrower than what is requested."""
        return True

    def recovery_began(self, now: Instant) -> None:
        """The window stays as it is."""

    def path_changed(self) -> None:
        """The window stays as it is."""

    def answered(self, answer: NackAnswer) -> None:
        """The window stays as it is."""


class RecoveryNackWindow:
    """SDCC (Section 3.2): opens and closes additively with the recovery rate, as TCP Vegas does.

    1. The recovery rate is the window divided by the round trip of a request (equation 9).
    2. Once in a round trip it is compared with the rate at the last change of the window.  If it
       rose by ``nack_increase`` the window opens by one unit, if it fell by ``nack_decrease`` it
       closes by one (equation 10).
    3. Every recovery starts with the initial window.

    Above ten units, one unit more is an increase of less than a tenth, so the window limits itself
    near ten units, whatever the network, until round trips become shorter.
    """

    __slots__ = ("_decide_at", "_largest", "_parameters", "_reference", "_size", "_unit")

    def __init__(
        self, parameters: CongestionParameters, *, unit: Duration, largest: Duration
    ) -> None:
        """``unit`` is size_NACK, ``largest`` the receive window."""
        self._parameters = parameters
        self._unit = unit
        self._largest = largest
        self._size = parameters.nack_window_initial_ns
        self._reference = 0.0
        self._decide_at: Instant = 0

    @property
    def size_ns(self) -> Duration:
        """The size at present, in ticks."""
        return self._size

    @property
    def piece_bytes(self) -> int:
        """The source decides."""
        return 0

    @property
    def waits_for_the_network(self) -> bool:
        """The paper does not distinguish the two."""
        return True

    def recovery_began(self, now: Instant) -> None:
        self._size = self._parameters.nack_window_initial_ns
        self._reference = 0.0

    def path_changed(self) -> None:
        """The window stays as it is."""

    def answered(self, answer: NackAnswer) -> None:
        """Decide once in a round trip."""
        round_trip = answer.round_trip
        if round_trip is None or answer.now < self._decide_at:
            return
        self._decide_at = answer.now + round_trip
        rate = self._size / max(1, round_trip)
        if rate >= self._reference * (1 + self._parameters.nack_increase):
            self._size = min(self._largest, self._size + self._unit)
            self._reference = rate
        elif rate <= self._reference * (1 - self._parameters.nack_decrease):
            smallest = self._parameters.nack_window_initial_ns
            self._size = max(smallest, self._size - self._unit)
            self._reference = rate


class CatchUpWindow:
    """For a subscriber that reads the past: a window in bytes, expressed in ticks.

    The past may be dense or empty.  While answers are small the window doubles, so that days of
    silence pass in a few round trips.  When an answer hits its limit the window halves, but not
    below twice what the answer covered: the next one may bring twice as much.

    What one answer may bring starts with ``FIRST_BYTES`` and doubles while answers arrive within
    ``SOON`` after the shortest round trip over as many links; it halves when they take twice as
    long, or when a request had to be repeated: on a thin link a large answer takes longer than any
    time-out.
    """

    __slots__ = ("_answer_bytes", "_bytes", "_piece_bytes", "_shortest", "_size", "_span")

    FIRST_BYTES: int = 64 << 10
    SMALLEST_BYTES: int = 4 << 10
    SOON: Duration = SECOND // 2

    INITIAL: Duration = SECOND
    LARGEST: Duration = 366 * 24 * 3600 * SECOND

    def __init__(self, answer_bytes: int, *, paced: bool = True) -> None:
        """``answer_bytes`` is what one answer holds at most.

        If it is not ``paced``, no link has to carry the answers, and the first may be as large.
        """
        self._answer_bytes = answer_bytes
        self._piece_bytes = min(answer_bytes, self.FIRST_BYTES) if paced else answer_bytes
        self._shortest = ShortestRoundTrips()
        self._size = self.INITIAL
        self._span: Duration = 0
        self._bytes = 0

    @property
    def size_ns(self) -> Duration:
        """The size at present, in ticks."""
        return self._size

    @property
    def piece_bytes(self) -> int:
        """What one answer holds at most."""
        return self._piece_bytes

    @property
    def waits_for_the_network(self) -> bool:
        """A reader of the past answers no queries."""
        return True

    def recovery_began(self, now: Instant) -> None:
        """A catch-up begins with a window of its own."""

    def path_changed(self) -> None:
        self._shortest.forget()

    def _resize_piece(self, answer: NackAnswer) -> None:
        longer = None
        if answer.took is not None:
            longer = self._shortest.excess(answer.took, answer.links, answer.now)
        elif answer.latest_round_trip is not None:
            self._shortest.excess(answer.latest_round_trip, answer.links, answer.now)
        if answer.repeated or (longer is not None and longer > 2 * self.SOON):
            self._piece_bytes = max(self.SMALLEST_BYTES, self._piece_bytes // 2)
        elif longer is not None and longer < self.SOON:
            self._piece_bytes = min(self._answer_bytes, 2 * self._piece_bytes)

    def answered(self, answer: NackAnswer) -> None:
        """Grow after small answers, shrink after large ones.

        A request is answered in pieces, one for each frame of the log; the density of the past is
        measured over all of them.
        """
        self._resize_piece(answer)
        self._span += answer.span
        self._bytes += answer.count_bytes
        if answer.more:
            self._size = min(self._size, max(self._size // 2, 2 * self._span))
            self._span = self._bytes = 0
            return
        if 2 * self._span >= self._size:
            if 2 * self._bytes < self._answer_bytes:
                self._size = min(self.LARGEST, self._size * 2)
            self._span = self._bytes = 0
