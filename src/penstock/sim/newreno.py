"""A TCP NewReno flow, as cross traffic in simulated experiments.

1. The sender always has data.  It keeps ``congestion_window`` segments in flight; in slow start the
   window grows by one for each acknowledged segment, above the threshold by one for each window.
2. Three duplicate acknowledgements start a fast recovery (RFC 6582): the threshold becomes half of
   the data in flight, the missing segment is retransmitted, each further duplicate releases one
   more segment, and a partial acknowledgement reveals the next missing segment.
3. Without an acknowledgement within the retransmission timeout (RFC 6298, doubled each time) the
   window falls to one segment and everything unacknowledged is retransmitted.
4. The receiver acknowledges every segment, cumulatively, as the response function of the papers
   assumes.

The flow knows nothing of the network: segments traverse the hops of the forward path one after
another, acknowledgements those of the backward path, and a packet that a hop drops is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.mechanisms.round_trip import RequestRoundTrip
from penstock.sim.scheduler import Scheduler

DUPLICATES_FOR_LOSS: Final = 3
"""RFC 5681: fewer duplicates may be mere reordering."""

INITIAL_WINDOW_SEGMENTS: Final = 2.0
"""RFC 2581, rounded down, as in the kernels of the papers' time."""

LEAST_THRESHOLD_SEGMENTS: Final = 2.0
"""RFC 5681."""

RECEIVE_WINDOW_SEGMENTS: Final = 256
"""The receiver's window: several times the size of the experiments' queues, so that the network is
the limit, and a bound where there is no other."""

FIRST_TIMEOUT_NS: Final[Duration] = SECOND
"""RFC 6298, before the first sample."""

LEAST_TIMEOUT_NS: Final[Duration] = 200 * MILLISECOND
"""As in Linux; RFC 6298's one second would hide what a flow can do on a short path."""

LONGEST_TIMEOUT_NS: Final[Duration] = 60 * SECOND
"""RFC 6298."""


class Hop(Protocol):
    """A link as cross traffic sees it."""

    def carry(self, size_bytes: int, arrived: Callable[[], None]) -> None:
        """Call ``arrived`` when the packet has reached the other end; never if it is lost."""
        ...


class Receiver:
    """The far end, which tracks what has arrived without a gap."""

    __slots__ = ("_beyond", "next_segment", "received_segments")

    def __init__(self) -> None:
        self.next_segment = 0
        self.received_segments = 0
        self._beyond: set[int] = set()

    def received(self, segment: int) -> int:
        """Accept a segment; returns the number of the next missing one."""
        self.received_segments += 1
        if segment >= self.next_segment:
            self._beyond.add(segment)
        while self.next_segment in self._beyond:
            self._beyond.remove(self.next_segment)
            self.next_segment += 1
        return self.next_segment


class NewRenoFlow:
    """One sender and its receiver."""

    def __init__(
        self,
        scheduler: Scheduler,
        forward: Sequence[Hop],
        backward: Sequence[Hop],
        *,
        segment_bytes: int = 1500,
        acknowledgement_bytes: int = 40,
        receive_window_segments: int = RECEIVE_WINDOW_SEGMENTS,
    ) -> None:
        """The flow sends nothing before ``start``."""
        self.segment_bytes = segment_bytes
        self.receiver = Receiver()
        self.congestion_window = INITIAL_WINDOW_SEGMENTS
        self.threshold = float("inf")
        self.timeouts = 0
        self.fast_recoveries = 0
        self._scheduler = scheduler
        self._forward = tuple(forward)
        self._backward = tuple(backward)
        self._acknowledgement_bytes = acknowledgement_bytes
        self._receive_window = receive_window_segments
        self._acknowledged = 0
        self._next = 0
        self._highest = 0
        self._duplicates = 0
        self._recover_to: int | None = None
        self._timer = RequestRoundTrip(
            minimum=LEAST_TIMEOUT_NS,
            maximum=LONGEST_TIMEOUT_NS,
            initial=FIRST_TIMEOUT_NS,
            # RFC 6298 does not bound the doubling; with this factor every time-out is the longest.
            most_back_off=LONGEST_TIMEOUT_NS // LEAST_TIMEOUT_NS,
        )
        self._timed: tuple[int, Instant] | None = None
        self._expires_at: Instant = 0
        self._armed = False
        self._running = False

    def start(self) -> None:
        self._running = True
        self._expires_at = self._scheduler.now + self._timer.timeout()
        self._send_what_fits()

    def stop(self) -> None:
        self._running = False

    @property
    def delivered_bytes(self) -> int:
        """Bytes that have arrived without a gap."""
        return self.receiver.next_segment * self.segment_bytes

    @property
    def in_flight(self) -> int:
        """Segments that are sent and not acknowledged."""
        return self._next - self._acknowledged

    # -- sending ----------------------------------------------------------------------------

    def _send_what_fits(self) -> None:
        window = min(int(self.congestion_window), self._receive_window)
        while self._running and self.in_flight < window:
            self._transmit(self._next)
            self._next += 1
        if self._running and not self._armed:
            self._armed = True
            self._scheduler.at(self._expires_at, self._timer_fired)

    def _transmit(self, segment: int) -> None:
        if segment >= self._highest:
            self._highest = segment + 1
            if self._timed is None:
                self._timed = (segment, self._scheduler.now)
        elif self._timed is not None and segment <= self._timed[0]:
            # Karn's rule: the acknowledgement may belong to either transmission.
            self._timed = None
        self._over(self._forward, self.segment_bytes, lambda: self._arrived(segment))

    def _arrived(self, segment: int) -> None:
        acknowledged = self.receiver.received(segment)
        size_bytes = self._acknowledgement_bytes
        self._over(self._backward, size_bytes, lambda: self._acknowledge(acknowledged))

    @staticmethod
    def _over(path: tuple[Hop, ...], size_bytes: int, arrived: Callable[[], None]) -> None:
        """Send a packet over the hops of a path, one after another."""

        def step(at: int) -> None:
            if at == len(path):
                arrived()
            else:
                path[at].carry(size_bytes, lambda: step(at + 1))

        step(0)

    # -- acknowledgements -------------------------------------------------------------------

    def _acknowledge(self, acknowledged: int) -> None:
        if acknowledged > self._acknowledged:
            self._progress(acknowledged)
        elif acknowledged == self._acknowledged and self.in_flight:
            self._duplicate()
        self._send_what_fits()

    def _progress(self, acknowledged: int) -> None:
        newly = acknowledged - self._acknowledged
        now = self._scheduler.now
        self._acknowledged = acknowledged
        self._next = max(self._next, acknowledged)
        self._duplicates = 0
        if self._timed is not None and acknowledged > self._timed[0]:
            self._timer.sample(now - self._timed[1])
            self._timed = None
        self._expires_at = now + self._timer.timeout()
        if self._recover_to is None:
            self._grow(newly)
        elif acknowledged >= self._recover_to:
            self._recover_to = None
            self.congestion_window = min(self.threshold, self.in_flight + 1.0)
        else:
            self.congestion_window = max(1.0, self.congestion_window - newly + 1)
            self._transmit(acknowledged)

    def _grow(self, newly: int) -> None:
        if self.congestion_window < self.threshold:
            self.congestion_window += newly
        else:
            self.congestion_window += newly / self.congestion_window

    def _duplicate(self) -> None:
        self._duplicates += 1
        if self._recover_to is not None:
            self.congestion_window += 1
        elif self._duplicates == DUPLICATES_FOR_LOSS:
            self.fast_recoveries += 1
            self._recover_to = self._highest
            self.threshold = max(self.in_flight / 2, LEAST_THRESHOLD_SEGMENTS)
            self.congestion_window = self.threshold + DUPLICATES_FOR_LOSS
            self._transmit(self._acknowledged)

    def _timer_fired(self) -> None:
        self._armed = False
        if not self._running:
            return
        now = self._scheduler.now
        if now >= self._expires_at:
            self._expired(now)
        self._send_what_fits()

    def _expired(self, now: Instant) -> None:
        self.timeouts += 1
        self._timer.timed_out()
        self.threshold = max(self.in_flight / 2, LEAST_THRESHOLD_SEGMENTS)
        self.congestion_window = 1.0
        self._recover_to = None
        self._duplicates = 0
        self._timed = None
        self._next = self._acknowledged
        self._expires_at = now + self._timer.timeout()
