"""The consumers of one queue, their in-flight rows, and whose turn it is.

1. A consumer is given at most as many messages as it granted credit for.
2. Consumers with credit take turns; when there are fewer messages than all of them could take, each
   gets an equal share, and none more than its part of all work (``work_rate``).
3. A consumer that has its part takes no turns until the next dispatch.
4. A consumer with a selector that has seen everything that waits takes no turns until new rows
   arrive.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from penstock.content.selectors.selector import Selector
from penstock.core.clock import Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import LinkName
from penstock.services.queues.queue.work_rate import WorkRate, fair_part


class QueueConsumer:
    """One consumer.

    ``in_flight`` are the rows that were delivered to it and are not settled; ``given`` are those of
    them that its application has received.
    """

    __slots__ = (
        "credit",
        "given",
        "in_flight",
        "in_flight_count",
        "name",
        "rate",
        "scanned",
        "selector",
        "session",
    )

    def __init__(self, session: LinkName, name: str, selector: Selector | None) -> None:
        """Without a selector the consumer takes every row."""
        self.session = session
        self.name = name
        self.selector = selector
        self.credit = 0
        self.in_flight = IntervalSet()
        self.in_flight_count = 0
        self.given = IntervalSet()
        self.rate = WorkRate()
        self.scanned: dict[int, int] = {}
        """For each priority, the position below which no waiting row matches."""

    def deliver(self, low: int, high: int, now: Instant) -> None:
        """Rows were delivered: they are in flight and use up credit."""
        if not self.in_flight_count:
            self.rate.begin(now)
        self.in_flight.add(low, high)
        self.in_flight_count += high - low
        self.credit -= high - low

    def give(self, low: int, high: int) -> None:
        """The application received these rows."""
        for part in self.in_flight.within(low, high):
            self.given.add(*part)

    def release(self, low: int, high: int) -> list[Interval]:
        """Rows are not in flight any more; returns those of ``[low, high)`` that were."""
        parts = self.in_flight.within(low, high)
        for part_low, part_high in parts:
            self.in_flight.remove(part_low, part_high)
            self.given.remove(part_low, part_high)
            self.in_flight_count -= part_high - part_low
        return parts


class Consumers:
    """All consumers of a queue."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[LinkName, str], QueueConsumer] = {}
        self._turns: deque[QueueConsumer] = deque()
        self._idle: dict[tuple[LinkName, str], QueueConsumer] = {}
        self._of_session: Counter[LinkName] = Counter()
        self._served: list[QueueConsumer] = []
        self._known_rates = 0
        self._rates_sum = 0.0

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[QueueConsumer]:
        """In the order in which they came."""
        return iter(self._by_key.values())

    def get(self, session: LinkName, name: str) -> QueueConsumer | None:
        return self._by_key.get((session, name))

    def add(self, consumer: QueueConsumer) -> None:
        """Add a consumer; it gets no turn before it has credit."""
        self._by_key[consumer.session, consumer.name] = consumer
        self._of_session[consumer.session] += 1

    def count_of_session(self, session: LinkName) -> int:
        return self._of_session[session]

    def remove(self, consumer: QueueConsumer) -> None:
        key = (consumer.session, consumer.name)
        del self._by_key[key]
        self._of_session[consumer.session] -= 1
        if not self._of_session[consumer.session]:
            del self._of_session[consumer.session]
        self._idle.pop(key, None)
        if consumer in self._turns:
            self._turns.remove(consumer)
        if consumer in self._served:
            self._served.remove(consumer)
        if consumer.rate.msgs_per_s is not None:
            self._known_rates -= 1
            self._rates_sum -= consumer.rate.msgs_per_s
        if not self._known_rates:
            self._rates_sum = 0.0

    def of_session(self, session: LinkName) -> list[QueueConsumer]:
        return [each for key, each in self._by_key.items() if key[0] == session]

    @property
    def in_flight_rows(self) -> int:
        """The rows that all consumers have together."""
        return sum(consumer.in_flight_count for consumer in self._by_key.values())

    def grant(self, consumer: QueueConsumer, more: int, limit: int) -> None:
        """Increase a consumer's credit, up to a limit."""
        had_none = consumer.credit <= 0
        consumer.credit = min(consumer.credit + more, limit)
        if had_none and consumer.credit > 0:
            self._idle.pop((consumer.session, consumer.name), None)
            if consumer not in self._turns and consumer not in self._served:
                self._turns.append(consumer)

    def worked(self, consumer: QueueConsumer, settled: int, now: Instant) -> None:
        """A consumer settled so many rows."""
        before = consumer.rate.msgs_per_s
        consumer.rate.settled(settled, now)
        after = consumer.rate.msgs_per_s
        if before is None and after is not None:
            self._known_rates += 1
        self._rates_sum += (after or 0.0) - (before or 0.0)

    @property
    def mean_msgs_per_s(self) -> float | None:
        """What a consumer settles in a second in which it has rows; None if not known."""
        return round(self._rates_sum / self._known_rates, 3) if self._known_rates else None

    def room(self, consumer: QueueConsumer, unfinished: int) -> int:
        """How many more of the queue's unfinished rows a consumer should have at most."""
        rate = consumer.rate.msgs_per_s
        part = fair_part(unfinished, rate, self._rates_sum, self._known_rates, len(self))
        return part - consumer.in_flight_count

    def serve_later(self, consumer: QueueConsumer) -> None:
        """Give a consumer that has its part of the work no turn until ``all_may_take``."""
        self._served.append(consumer)

    def all_may_take(self) -> None:
        """Rows or settlements came: who had its part may get more."""
        if self._served:
            self._turns.extend(self._served)
            self._served.clear()

    @property
    def turns(self) -> int:
        """How many consumers wait for their turn."""
        return len(self._turns)

    def next_turn(self) -> QueueConsumer:
        """Remove and return the consumer whose turn it is; ``again`` or ``rest`` follows."""
        return self._turns.popleft()

    def again(self, consumer: QueueConsumer, *, first: bool = False) -> None:
        """Let a consumer take another turn if it has credit."""
        if consumer.credit <= 0:
            return
        if first:
            self._turns.appendleft(consumer)
        else:
            self._turns.append(consumer)

    def rest(self, consumer: QueueConsumer) -> None:
        """Give a consumer no turn until new rows arrive: no waiting row matches its selector."""
        self._idle[consumer.session, consumer.name] = consumer

    def rows_came(self, priority: int, low: int) -> None:
        """Rows from ``low`` on wait that consumers with selectors may not have seen."""
        for consumer in self._by_key.values():
            if consumer.selector is not None and consumer.scanned.get(priority, 0) > low:
                consumer.scanned[priority] = low
        if self._idle:
            self._turns.extend(self._idle.values())
            self._idle.clear()
