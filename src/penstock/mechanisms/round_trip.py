"""Round-trip estimates, measured in two ways.

``RequestRoundTrip`` serves a sender that asks and is answered, and reads only its own clock.  It is
the estimator of RFC 6298.

1. A sample moves the smoothed round trip by an eighth of the difference, and the deviation by a
   quarter.  A request times out after ``smoothed + 4 × deviation``, within bounds, and not before a
   quarter more than the smoothed round trip: where round trips are long and all alike, the
   deviation falls to nothing, and an answer that is a millisecond late would be asked for twice.
2. The answer to a request that was repeated is not a sample: it is unknown which of the requests it
   answers (Karn's rule).
3. A time-out doubles the next one, up to ``most_back_off`` times, for new requests too, until there
   is a sample again.  Otherwise a round trip that has grown beyond the time-out would never be
   measured, and every request would be sent twice for ever.

``TwoClockRoundTrip`` serves a receiver of a one-way flow that gets a sample from every message,
though the sender's clock differs from its own by an unknown amount (content-aware datagrams,
Section III-B 4).

4. An echo, which is an answered request, gives the round trip, and with it the apparent one-way
   delay from the sender: the true one plus the difference of the clocks.
5. After that each message gives a sample.  The limiting receiver of the message's flow adds the
   delay of its own last report, as the sender measured it: the difference of the clocks cancels.
   Every other receiver adds to the round trip of the echo by how much the one-way delay has grown
   since.
6. Samples are smoothed with a weight of 0.98 for the past; with 0.9 the control oscillates.
7. The echo is repeated, because clocks drift apart.  An answer names its request, so that a late
   answer counts after the request was repeated: a round trip longer than ``RETRY_NS`` would never
   be measured otherwise.
8. A sample that is not positive, or far from the estimate, means that a clock was set or that the
   route has changed.  It is not used.  An echo is requested, at most once in ``RETRY_NS``, and its
   answer replaces the estimate.
9. The message after a lost one has passed the full queue.  At a loss its own round trip counts if
   it is longer: a queue that fills within a round trip is ahead of the estimate.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant

SMOOTHING: Final = 8
"""RFC 6298: the round trip moves by an eighth of the difference at each sample."""

DEVIATION_SMOOTHING: Final = 4
"""RFC 6298: the deviation moves by a quarter of the difference at each sample."""

MOST_BACK_OFF: Final = 8
"""A request is repeated at most eight times as late as the first time, unless told otherwise."""

PAST_WEIGHT: Final = 0.98

RETRY_NS: Final[Duration] = SECOND
"""When an echo that was not answered is repeated; also the least time between two echoes."""

LONGEST_NS: Final[Duration] = 10 * SECOND
"""A longer round trip means that a clock was set."""

UNANSWERED_KEPT: Final = LONGEST_NS // RETRY_NS
"""Requests that can still be answered in time."""

FAR_NS: Final[Duration] = 500 * MILLISECOND
"""How far a sample may lie from the estimate, in addition to twice the estimate itself."""


class RequestRoundTrip:
    """Smoothed round trip of answered requests, and the time-out that follows from it."""

    __slots__ = (
        "_back_off",
        "_initial",
        "_max",
        "_min",
        "_most_back_off",
        "deviation_ns",
        "latest_ns",
        "smoothed_ns",
    )

    def __init__(
        self,
        *,
        minimum: Duration,
        maximum: Duration,
        initial: Duration,
        most_back_off: int = MOST_BACK_OFF,
    ) -> None:
        """Time-outs lie between the bounds; ``initial`` serves until there is a sample."""
        self._min = minimum
        self._max = maximum
        self._initial = initial
        self._most_back_off = most_back_off
        self._back_off = 1
        self.smoothed_ns: Duration | None = None
        self.latest_ns: Duration | None = None
        self.deviation_ns: Duration = 0

    def sample(self, measured: Duration) -> None:
        """Take in the round trip of a request that was sent once."""
        self._back_off = 1
        self.latest_ns = measured
        if self.smoothed_ns is None:
            self.smoothed_ns = measured
            self.deviation_ns = measured // 2
            return
        error = measured - self.smoothed_ns
        self.smoothed_ns += error // SMOOTHING
        self.deviation_ns += (abs(error) - self.deviation_ns) // DEVIATION_SMOOTHING

    def timed_out(self) -> None:
        """Double the time-out (rule 3)."""
        self._back_off = min(self._most_back_off, 2 * self._back_off)

    def timeout(self) -> Duration:
        """How long to wait for an answer."""
        return min(self._max, self.usual_timeout() * self._back_off)

    def usual_timeout(self) -> Duration:
        """The time-out without back-off: how long an answer takes when answers arrive at all."""
        if self.smoothed_ns is None:
            return self._initial
        margin = max(4 * self.deviation_ns, self.smoothed_ns // 4)
        return min(self._max, max(self._min, self.smoothed_ns + margin))

    @property
    def shortest_usual_ns(self) -> Duration:
        """Answers seldom arrive in less than half the usual time; 0 before there is a sample."""
        return 0 if self.smoothed_ns is None else self.smoothed_ns // 2


class TwoClockRoundTrip:
    """Smoothed round trip between the receiver of a flow and its sender."""

    __slots__ = (
        "_asked_at",
        "_doubted",
        "_echo_interval_ns",
        "_echo_ns",
        "_echoed_at",
        "_one_way_at_echo_ns",
        "_unanswered",
        "latest_ns",
        "smoothed_ns",
    )

    def __init__(self, echo_interval_ns: Duration) -> None:
        self.smoothed_ns: Duration | None = None
        self.latest_ns: Duration = 0
        self._echo_interval_ns = echo_interval_ns
        self._echo_ns: Duration = 0
        self._one_way_at_echo_ns: Duration = 0
        self._asked_at: Instant | None = None
        self._unanswered: deque[Instant] = deque(maxlen=UNANSWERED_KEPT)
        self._echoed_at: Instant | None = None
        self._doubted = False

    @property
    def at_loss_ns(self) -> Duration | None:
        """The round trip at a loss (rule 9); None if it is not known."""
        return None if self.smoothed_ns is None else max(self.smoothed_ns, self.latest_ns)

    def echo_wanted_at(self) -> Instant:
        """When to request an echo; an instant in the past means now."""
        if self._asked_at is None:
            return 0
        if self._echoed_at is None or self._doubted or self._asked_at > self._echoed_at:
            return self._asked_at + RETRY_NS
        return self._echoed_at + self._echo_interval_ns

    def asked(self, now: Instant) -> None:
        """An echo was requested."""
        self._asked_at = now
        self._unanswered.append(now)

    def echoed(self, asked_at: Instant, answered_at: Instant, now: Instant) -> None:
        """Take in an echo: ``asked_at`` is by our clock, ``answered_at`` by the sender's."""
        measured = now - asked_at
        if asked_at not in self._unanswered or not 0 < measured <= LONGEST_NS:
            return
        while self._unanswered and self._unanswered[0] <= asked_at:
            self._unanswered.popleft()
        self._echo_ns = measured
        self._one_way_at_echo_ns = now - answered_at
        self._echoed_at = now
        if self.smoothed_ns is None or self._doubted:
            self.smoothed_ns = measured
        self._doubted = False

    def publication(
        self, sent_at: Instant, now: Instant, feedback_delay_ns: Duration | None
    ) -> bool:
        """Take in a message; False if the clock that stamped it cannot be believed."""
        if self.smoothed_ns is None:
            return True
        one_way = now - sent_at
        if feedback_delay_ns is not None:
            sample = one_way + feedback_delay_ns
        else:
            sample = self._echo_ns + one_way - self._one_way_at_echo_ns
        far = FAR_NS + 2 * self.smoothed_ns
        if not 0 < sample <= LONGEST_NS or abs(sample - self.smoothed_ns) > far:
            self._doubted = True
            return False
        self.latest_ns = sample
        self.smoothed_ns = round(PAST_WEIGHT * self.smoothed_ns + (1 - PAST_WEIGHT) * sample)
        return True
