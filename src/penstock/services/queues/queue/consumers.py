"""The consumers of one queue, and whose turn it is.

1. A consumer is handed at most as many messages as it granted credit for.
2. Those with credit take turns; when there is less than all of them could take, each gets an equal
   share.
3. A consumer with a selector that has seen everything that waits is out of the turns until there
   is something new.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from penstock.content.selectors.selector import Selector
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import LinkName


class Consumer:
    """One consumer; ``held`` are the rows that it has and did not settle, ``given`` those of them
    that its application has in its hands."""

    __slots__ = ("credit", "given", "held", "held_count", "name", "scanned", "selector", "session")

    def __init__(self, session: LinkName, name: str, selector: Selector | None) -> None:
        """No selector means everything."""
        self.session = session
        self.name = name
        self.selector = selector
        self.credit = 0
        self.held = IntervalSet()
        self.held_count = 0
        self.given = IntervalSet()
        self.scanned: dict[int, int] = {}
        """For each priority, the position below which nothing that waits matches."""

    def hold(self, low: int, high: int) -> None:
        """These rows were handed over."""
        self.held.add(low, high)
        self.held_count += high - low
        self.credit -= high - low

    def give(self, low: int, high: int) -> None:
        """The application was given these rows."""
        for part in self.held.within(low, high):
            self.given.add(*part)

    def let_go(self, low: int, high: int) -> list[Interval]:
        """Rows are not the consumer's any more; returns those that were."""
        parts = self.held.within(low, high)
        for part_low, part_high in parts:
            self.held.remove(part_low, part_high)
            self.given.remove(part_low, part_high)
            self.held_count -= part_high - part_low
        return parts


class Consumers:
    """All consumers of a queue."""

    def __init__(self) -> None:
        """Nobody is there."""
        self._by_key: dict[tuple[LinkName, str], Consumer] = {}
        self._turns: deque[Consumer] = deque()
        self._idle: dict[tuple[LinkName, str], Consumer] = {}
        self._of_session: Counter[LinkName] = Counter()

    def __len__(self) -> int:
        """How many there are."""
        return len(self._by_key)

    def __iter__(self) -> Iterator[Consumer]:
        """In the order in which they came."""
        return iter(self._by_key.values())

    def get(self, session: LinkName, name: str) -> Consumer | None:
        """One consumer."""
        return self._by_key.get((session, name))

    def add(self, consumer: Consumer) -> None:
        """A consumer comes; it has no turn before it has credit."""
        self._by_key[consumer.session, consumer.name] = consumer
        self._of_session[consumer.session] += 1

    def count_of_session(self, session: LinkName) -> int:
        """How many one connection has."""
        return self._of_session[session]

    def remove(self, consumer: Consumer) -> None:
        """A consumer goes."""
        key = (consumer.session, consumer.name)
        del self._by_key[key]
        self._of_session[consumer.session] -= 1
        if not self._of_session[consumer.session]:
            del self._of_session[consumer.session]
        self._idle.pop(key, None)
        if consumer in self._turns:
            self._turns.remove(consumer)

    def of_session(self, session: LinkName) -> list[Consumer]:
        """The consumers of one connection."""
        return [each for key, each in self._by_key.items() if key[0] == session]

    def grant(self, consumer: Consumer, more: int, limit: int) -> None:
        """A consumer can take more."""
        had_none = consumer.credit <= 0
        consumer.credit = min(consumer.credit + more, limit)
        if had_none and consumer.credit > 0:
            self._idle.pop((consumer.session, consumer.name), None)
            if consumer not in self._turns:
                self._turns.append(consumer)

    @property
    def turns(self) -> int:
        """How many wait for their turn."""
        return len(self._turns)

    def next_turn(self) -> Consumer:
        """Whose turn it is; the consumer leaves the turns until ``again`` or ``rest``."""
        return self._turns.popleft()

    def again(self, consumer: Consumer, *, first: bool = False) -> None:
        """The consumer stays in the turns, if it has credit."""
        if consumer.credit <= 0:
            return
        if first:
            self._turns.appendleft(consumer)
        else:
            self._turns.append(consumer)

    def rest(self, consumer: Consumer) -> None:
        """The consumer wants nothing of what waits."""
        self._idle[consumer.session, consumer.name] = consumer

    def rows_came(self, priority: int, low: int) -> None:
        """Rows wait that selective consumers may not have seen."""
        for consumer in self._by_key.values():
            if consumer.selector is not None and consumer.scanned.get(priority, 0) > low:
                consumer.scanned[priority] = low
        if self._idle:
            self._turns.extend(self._idle.values())
            self._idle.clear()
