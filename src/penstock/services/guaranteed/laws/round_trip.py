"""How long an answer to a request takes, and when to ask again.

The usual estimator: a smoothed round trip and its deviation; a request is repeated after
``srtt + 4·var`` within bounds, and the answer to a repeated request is never measured, since nobody
knows which request it answers (Karn's rule).  A repetition doubles the time-out, up to eightfold,
for new requests too, until an answer can be measured again: otherwise a round trip that has grown
beyond the time-out would never be noticed, and everything would be asked for twice for ever.
"""

from __future__ import annotations

from penstock.core.clock import Duration

SMOOTHING = 8
"""The round trip moves by an eighth of the difference at each sample."""
DEVIATION_SMOOTHING = 4
"""The deviation moves by a quarter of the difference at each sample."""
MAX_BACK_OFF = 8
"""A request is repeated at most eight times as late as the first time."""


class RoundTrip:
    """Smoothed round-trip time of requests."""

    __slots__ = ("_back_off", "_initial", "_max", "_min", "deviation_ns", "smoothed_ns")

    def __init__(self, *, minimum: Duration, maximum: Duration, initial: Duration) -> None:
        """Time-outs lie between the bounds; ``initial`` serves until there is a sample."""
        self._min = minimum
        self._max = maximum
        self._initial = initial
        self._back_off = 1
        self.smoothed_ns: Duration | None = None
        self.deviation_ns: Duration = 0

    def sample(self, measured: Duration) -> None:
        """One answer to a request that was sent once."""
        self._back_off = 1
        if self.smoothed_ns is None:
            self.smoothed_ns = measured
            self.deviation_ns = measured // 2
            return
        error = measured - self.smoothed_ns
        self.smoothed_ns += error // SMOOTHING
        self.deviation_ns += (abs(error) - self.deviation_ns) // DEVIATION_SMOOTHING

    def repeated(self) -> None:
        """Requests had to be repeated."""
        self._back_off = min(MAX_BACK_OFF, 2 * self._back_off)

    def timeout(self) -> Duration:
        """How long to wait for an answer."""
        return min(self._max, self.usual_timeout() * self._back_off)

    @property
    def shortest_usual_ns(self) -> Duration:
        """Answers seldom come sooner than in half the usual time; 0 before there is a sample."""
        return 0 if self.smoothed_ns is None else self.smoothed_ns // 2

    def usual_timeout(self) -> Duration:
        """The same without back-off: how long an answer takes when answers come at all."""
        if self.smoothed_ns is None:
            return self._initial
        return min(self._max, max(self._min, self.smoothed_ns + 4 * self.deviation_ns))
