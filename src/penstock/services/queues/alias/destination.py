"""One destination of an alias queue, as the alias queue sees it."""

from __future__ import annotations

from penstock.core.clock import Instant, earliest
from penstock.core.intervals import Interval, IntervalSet
from penstock.services.queues.alias.distance import Distance
from penstock.services.queues.parameters import QueueParameters, split_address


class Destination:
    """A queue on some broker, and how far rows for it have come.

    ``in_flight`` are undecided rows that were forwarded to it; ``deciding`` are rows that it stored
    and whose decision is on its way to our disk; ``confirmed`` are rows that are its own, durably,
    and of which it has not said yet that it knows.
    """

    def __init__(self, address: str, *, retired: bool = False) -> None:
        """Nothing is known of it at first."""
        self.address = address
        self.queue, self.broker = split_address(address)
        self.retired = retired
        self.reachable = False
        self.consumers: int | None = None
        self.paused_until: Instant = 0
        self.probed_at: Instant = 0
        self.problem = ""
        self.in_flight = IntervalSet()
        self.in_flight_bytes = 0
        self.progress_at: Instant = 0
        self.deciding = IntervalSet()
        self.confirmed = IntervalSet()
        self.repeat_at: Instant | None = None
        self.forwarded_messages = 0
        self.distance = Distance()
        self._timed: tuple[int, Instant] | None = None

    def can_take(self, now: Instant, *, alone: bool) -> bool:
        """Whether rows may be forwarded to it; an only destination need not have consumers."""
        if self.retired or not self.reachable or now < self.paused_until:
            return False
        return alone or bool(self.consumers)

    def sent(self, low: int, high: int, weight_bytes: int, now: Instant) -> None:
        """Rows are under way to it."""
        if not len(self.in_flight):
            self.progress_at = now
        if self._timed is None:
            self._timed = (low, now)
        self.in_flight.add(low, high)
        self.in_flight_bytes += weight_bytes
        self.forwarded_messages += high - low

    def has_stored(self, low: int, high: int, now: Instant) -> None:
        """It said so: one row at a time tells how far away it is."""
        self.progress_at = now
        if self._timed is not None and low <= self._timed[0] < high:
            self.distance.measured(now - self._timed[1], now)
            self._timed = None

    def take_back(self, low: int, high: int) -> list[Interval]:
        """Rows are not under way to it any more; which of them were."""
        if self._timed is not None and low <= self._timed[0] < high:
            self._timed = None
        parts = self.in_flight.within(low, high)
        for part_low, part_high in parts:
            self.in_flight.remove(part_low, part_high)
        if not len(self.in_flight):
            self.in_flight_bytes = 0
        return parts

    def take_back_all(self) -> list[Interval]:
        """Everything under way to it is so no longer."""
        parts = list(self.in_flight)
        self._timed = None
        self.in_flight = IntervalSet()
        self.in_flight_bytes = 0
        return parts

    def lost(self) -> list[Interval]:
        """There is no way to it any more; the rows that were under way to it."""
        self.reachable = False
        self.consumers = None
        self.distance = Distance()
        return self.take_back_all()

    def probe_at(self, parameters: QueueParameters, waiting: int) -> Instant | None:
        """When to ask it again, if it gets nothing: its last word may have been lost."""
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
        """When it is late, is told again or is asked: the earliest."""
        late = self.progress_at + parameters.forward_timeout_ns if len(self.in_flight) else None
        repeat_at = self.repeat_at if self.reachable else None
        return earliest(late, repeat_at, self.probe_at(parameters, waiting))

    @property
    def unsettled_rows(self) -> int:
        """Rows that were forwarded to it and are not its own yet, durably."""
        return self.in_flight.span + self.deciding.span

    @property
    def is_done(self) -> bool:
        """Whether nothing ties the alias queue to it, so that a retired one can be forgotten."""
        return not (len(self.in_flight) or len(self.deciding) or len(self.confirmed))

    def why_not(self, now: Instant, *, alone: bool) -> str:
        """Why it gets nothing, for people; empty if it gets something."""
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
