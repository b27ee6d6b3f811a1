"""One destination of an alias queue, as the alias queue sees it."""

from __future__ import annotations

from penstock.core.clock import Duration, Instant, earliest
from penstock.core.intervals import Interval, IntervalSet
from penstock.services.queues.alias.destination_load import DestinationLoad
from penstock.services.queues.alias.distance import Distance
from penstock.services.queues.parameters import QueueParameters, split_address


class AliasDestination:
    """A queue on some broker, and the rows that the alias queue has forwarded to it.

    ``in_flight`` are undecided rows; ``deciding`` are rows that it has stored and whose decision is
    not durable here; ``decided`` are rows that it owns, durably, and has not confirmed yet.
    """

    def __init__(self, address: str, *, retired: bool = False) -> None:
        self.address = address
        self.queue, self.broker = split_address(address)
        self.retired = retired
        self.reachable = False
        self.consumers: int | None = None
        self.paused_until: Instant = 0
        self.probed_at: Instant = 0
        self.problem = ""
        self.told = DestinationLoad()
        self.in_flight = IntervalSet()
        self.in_flight_bytes = 0
        self.progress_at: Instant = 0
        self.deciding = IntervalSet()
        self.decided = IntervalSet()
        self.repeat_at: Instant | None = None
        self._distance = Distance()
        self._timed: tuple[int, Instant] | None = None

    # -- can it take rows? ------------------------------------------------------------------

    def can_take(self, now: Instant, *, alone: bool) -> bool:
        """Whether rows may be forwarded to it; the only destination needs no consumers."""
        if self.retired or not self.reachable or now < self.paused_until:
            return False
        return alone or bool(self.consumers)

    def is_within(self, limit_ns: Duration) -> bool:
        """Whether it is known to store rows within this time."""
        return self._distance.is_within(limit_ns)

    def pause(self, problem: str, until: Instant) -> None:
        """Forward nothing to it until then."""
        self.problem = problem
        self.paused_until = until

    # -- rows in flight ---------------------------------------------------------------------

    def sent(self, low: int, high: int, weight_bytes: int, now: Instant) -> None:
        """Rows are in flight to it."""
        if not len(self.in_flight):
            self.progress_at = now
        if self._timed is None:
            self._timed = (low, now)
        self.in_flight.add(low, high)
        self.in_flight_bytes += weight_bytes

    def has_stored(self, low: int, high: int, now: Instant) -> None:
        """It reports that it has stored rows; one row at a time measures the distance."""
        self.progress_at = now
        if self._timed is not None and low <= self._timed[0] < high:
            self._distance.measured(now - self._timed[1], now)
            self._timed = None

    def take_back(self, low: int, high: int) -> list[Interval]:
        """Rows are not in flight any more; returns those of ``[low, high)`` that were."""
        if self._timed is not None and low <= self._timed[0] < high:
            self._timed = None
        parts = self.in_flight.within(low, high)
        for part_low, part_high in parts:
            self.in_flight.remove(part_low, part_high)
        if not len(self.in_flight):
            self.in_flight_bytes = 0
        return parts

    def take_back_all(self) -> list[Interval]:
        """No row is in flight any more; returns those that were."""
        parts = list(self.in_flight)
        self._timed = None
        self.in_flight = IntervalSet()
        self.in_flight_bytes = 0
        return parts

    def lost(self) -> list[Interval]:
        """It cannot be reached any more; returns the rows that were in flight."""
        self.reachable = False
        self.consumers = None
        self.told.forget()
        self._distance = Distance()
        return self.take_back_all()

    def is_late(self, now: Instant, timeout_ns: Duration) -> bool:
        """Whether it has confirmed none of its rows in flight for too long."""
        return len(self.in_flight) > 0 and now >= self.progress_at + timeout_ns

    # -- decided rows -----------------------------------------------------------------------

    def decision_durable(self, low: int, high: int) -> None:
        """The note that gives it these rows is durable."""
        self.deciding.remove(low, high)
        self.decided.add(low, high)

    def confirm(self, low: int, high: int) -> None:
        """It knows that it owns these rows."""
        self.decided.remove(low, high)

    def schedule_repeat(self, now: Instant, repeat_ns: Duration) -> None:
        """Repeat the decisions that it has not confirmed after this time."""
        self.repeat_at = now + repeat_ns if len(self.decided) else None

    @property
    def unsettled_rows(self) -> int:
        """Rows that were forwarded to it and are not its own yet, durably."""
        return self.in_flight.span + self.deciding.span

    @property
    def is_done(self) -> bool:
        """Whether no row depends on it, so that it can be forgotten if it is retired."""
        return not (len(self.in_flight) or len(self.deciding) or len(self.decided))

    # -- time -------------------------------------------------------------------------------

    def probe_at(self, parameters: QueueParameters, waiting: int) -> Instant | None:
        """When to ask a destination without rows again: its last report may have been lost."""
        if not self.reachable or self.retired:
            return None
        if self.paused_until:
            return self.paused_until
        if self.consumers is None:
            return self.probed_at + parameters.repeat_ns
        if not self.consumers and waiting:
            return self.probed_at + parameters.forward_timeout_ns
        return None

    def next_deadline(self, parameters: QueueParameters, waiting: int) -> Instant | None:
        """When it is late, decisions are repeated, or it is asked: the earliest."""
        late = self.progress_at + parameters.forward_timeout_ns if len(self.in_flight) else None
        repeat_at = self.repeat_at if self.reachable else None
        return earliest(late, repeat_at, self.probe_at(parameters, waiting))

    # -- looking in -------------------------------------------------------------------------

    def why_not(self, now: Instant, *, alone: bool) -> str:
        """Why it gets no rows, for people; empty if it gets some."""
        if self.retired:
            return "retired"
        if not self.reachable:
            return f"broker {self.broker!r} cannot be reached"
        if now < self.paused_until:
            return f"refused: {self.problem}"
        if self.problem:
            return self.problem
        if alone:
            return ""
        if self.consumers is None:
            return "has not reported yet"
        return "" if self.consumers else "has no consumers"
