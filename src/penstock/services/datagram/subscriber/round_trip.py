"""The round trip between a subscriber and a publisher (Section III-B 4).

1. An echo gives the round trip, and together with it what the way from the publisher took by the
   two clocks, whose difference nobody knows.
2. From then on each publication gives a sample.  The limiting receiver of its flow adds what its
   own last report took, as the publisher tells it: the clocks' difference cancels.  Everybody else
   adds to the echo's round trip by how much the way from the publisher has grown since.
3. Samples are smoothed with a weight of 0.98 for the past; with 0.9 the control oscillates.
4. The echo is repeated, because clocks drift apart.
5. A sample that is not positive, or far from the estimate, says that a clock was set or that the
   route has changed.  It is not used; an echo is asked for, at most once in ``RETRY_NS``, and its
   answer counts in full.
6. The message behind a lost one has come through the full queue.  At a loss its own round trip
   counts where it is longer: a queue that fills within a round trip is ahead of the estimate.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant

SMOOTHING: Final = 0.98

RETRY_NS: Final[Duration] = SECOND
"""An echo that is not answered is repeated after so long; also the least between two echoes."""

LONGEST_NS: Final[Duration] = 10 * SECOND
"""A round trip beyond this is a clock that was set, not a network."""

FAR_NS: Final[Duration] = 500 * MILLISECOND
"""How far a sample may lie from the estimate, beside twice the estimate itself."""


class RoundTripEstimate:
    """What is known of one publisher's distance."""

    __slots__ = (
        "_asked_at",
        "_doubted",
        "_echo_interval_ns",
        "_echo_ns",
        "_echoed_at",
        "_one_way_at_echo_ns",
        "latest_ns",
        "smoothed_ns",
    )

    def __init__(self, echo_interval_ns: Duration) -> None:
        """Nothing is known."""
        self.smoothed_ns: Duration | None = None
        self.latest_ns: Duration = 0
        self._echo_interval_ns = echo_interval_ns
        self._echo_ns: Duration = 0
        self._one_way_at_echo_ns: Duration = 0
        self._asked_at: Instant | None = None
        self._echoed_at: Instant | None = None
        self._doubted = False

    @property
    def at_loss_ns(self) -> Duration | None:
        """The round trip when something was lost (rule 6); None if it is not known."""
        return None if self.smoothed_ns is None else max(self.smoothed_ns, self.latest_ns)

    def echo_wanted_at(self) -> Instant:
        """When to ask for an echo; an instant in the past means now."""
        if self._asked_at is None:
            return 0
        if self._echoed_at is None or self._doubted or self._asked_at > self._echoed_at:
            return self._asked_at + RETRY_NS
        return self._echoed_at + self._echo_interval_ns

    def asked(self, now: Instant) -> None:
        """An echo was asked for."""
        self._asked_at = now

    def echoed(self, asked_at: Instant, answered_at: Instant, now: Instant) -> None:
        """The answer: ``asked_at`` is by our clock, ``answered_at`` by the publisher's."""
        measured = now - asked_at
        if asked_at != self._asked_at or not 0 < measured <= LONGEST_NS:
            return
        self._echo_ns = measured
        self._one_way_at_echo_ns = now - answered_at
        self._echoed_at = now
        if self.smoothed_ns is None or self._doubted:
            self.smoothed_ns = measured
        self._doubted = False

    def publication(
        self, sent_at: Instant, now: Instant, feedback_delay_ns: Duration | None
    ) -> bool:
        """A publication came; False if its clock cannot be believed."""
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
        self.smoothed_ns = round(SMOOTHING * self.smoothed_ns + (1 - SMOOTHING) * sample)
        return True
