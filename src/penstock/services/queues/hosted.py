"""The queues and alias queues that one broker hosts, by name, and when each of them is due."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.clock import Instant
from penstock.mechanisms.deadlines import Deadlines
from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.durable_queue import DurableQueue
from penstock.services.queues.queue.queue import Queue


class HostedQueues:
    """Finds queues by name or by log, and keeps their deadlines."""

    def __init__(self, broker: str, queues: Iterable[Queue], aliases: Iterable[AliasQueue]) -> None:
        self._broker = broker
        self.queues = {each.name: each for each in queues}
        self.aliases = {each.name: each for each in aliases}
        self._by_log: dict[str, DurableQueue] = {}
        self._by_log.update((each.log, each) for each in self.queues.values())
        self._by_log.update((each.log, each) for each in self.aliases.values())
        self._deadlines: Deadlines[str] = Deadlines()

    # -- finding ----------------------------------------------------------------------------

    def find(self, name: str) -> DurableQueue | None:
        """A queue or an alias queue."""
        return self.queues.get(name) or self.aliases.get(name)

    def owner_of(self, log: str | None) -> DurableQueue | None:
        """The queue or alias queue whose journal this is."""
        return self._by_log.get(log or "")

    def all(self) -> list[DurableQueue]:
        """The queues, then the alias queues."""
        return [*self.queues.values(), *self.aliases.values()]

    def no_such_queue(self, name: str) -> str:
        """The error for a name that no queue here has."""
        names = [*sorted(self.queues), *sorted(self.aliases)]
        has = f"it has {', '.join(names)}" if names else "it has none"
        return f"broker {self._broker!r} has no queue {name!r}; {has}"

    # -- time -------------------------------------------------------------------------------

    def changed(self, queue: DurableQueue) -> None:
        """Note the deadline of a queue after something was done to it."""
        self._deadlines.set(queue.log, queue.next_deadline())

    def due(self, now: Instant) -> list[DurableQueue]:
        """The queues whose deadline has come; each sets its next by ``changed``."""
        return [self._by_log[log] for log in self._deadlines.pop_due(now)]

    def next_deadline(self) -> Instant | None:
        """The earliest deadline of all queues."""
        return self._deadlines.earliest()

    # -- checking ---------------------------------------------------------------------------

    def check_invariants(self) -> None:
        for queue in self._by_log.values():
            queue.check_invariants()
