"""The cost of each step of a message in the queue machines alone, directly and through an alias.

    python -m benchmarks.queue_steps [--batches N] [--commit N]

Two brokers' queue services in one process, without network, encoding or disk; batches of 512
messages of 1 kB; a commit reports ``--commit`` batches at once.  Prints microseconds per batch for
every kind of message, with warm caches, which a broker that also moves the bytes does not have.
"""

from __future__ import annotations

import argparse
from collections import Counter, deque
from time import process_time_ns
from typing import Any, Final

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.core.machine import Effect, Persist, PersistState, Send
from penstock.core.tokens import Tokens
from penstock.services.queues.broker import QueueBroker
from penstock.services.queues.messages import Credit, Deliver, Receive, SendToQueue, Settle
from penstock.services.queues.parameters import AliasConfig, QueueConfig, QueueParameters

ROWS: Final = 512
WARM_UP: Final = 200
NOW: Final = 1000 * SECOND


class Steps:
    """A producer's broker and a consumer's broker, and the time that each kind of step took."""

    def __init__(self, queue: str) -> None:
        """The producer sends to ``queue`` at broker one; the consumer is at broker two."""
        alias = (AliasConfig("orders", ("work@two",)),)
        self._brokers = {
            "one": _broker("one", (), alias),
            "two": _broker("two", (QueueConfig("work"),), ()),
        }
        self._queue = queue
        self._batch = Batch.from_rows([({"n": n}, bytes(1000)) for n in range(ROWS)])
        self._under_way: deque[tuple[str, str, Any]] = deque()
        self._tokens: dict[str, list[int]] = {"one": [], "two": []}
        self._sent = 0
        self.spent_ns: Counter[str] = Counter()
        for name, broker in self._brokers.items():
            self._carry_out(name, broker.start())
            others = {each: each for each in self._brokers if each != name}
            self._carry_out(name, broker.routes_changed({}, others, NOW))
        self._tell("two", "consumer", Receive("c", "work", "", 100_000))

    def run(self, batches: int, commit: int) -> None:
        """Send this many batches; the disks report after every ``commit`` of them."""
        for number in range(batches):
            self._tell("one", "producer", SendToQueue("p", self._queue, self._sent, self._batch))
            self._sent += ROWS
            self._deliver()
            if number % commit == commit - 1:
                self._sync()
        for _ in range(4):
            self._sync()

    def _tell(self, name: str, link: str, message: Any) -> None:
        began = process_time_ns()
        effects = self._brokers[name].received(link, message, NOW)
        self.spent_ns[f"{name}: {type(message).__name__}"] += process_time_ns() - began
        self._carry_out(name, effects)

    def _deliver(self) -> None:
        while self._under_way:
            link, name, message = self._under_way.popleft()
            self._tell(name, link, message)

    def _sync(self) -> None:
        for name in ("two", "one"):
            tokens, self._tokens[name] = self._tokens[name], []
            for token in tokens:
                began = process_time_ns()
                effects = self._brokers[name].resolved(token, None, NOW)
                self.spent_ns[f"{name}: the disk's answer"] += process_time_ns() - began
                self._carry_out(name, effects)
            self._deliver()

    def _carry_out(self, name: str, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Persist | PersistState):
                self._tokens[name].append(effect.token)
            elif isinstance(effect, Send) and effect.link in self._brokers:
                self._under_way.append((name, effect.link, effect.message))
            elif isinstance(effect, Send) and isinstance(effect.message, Deliver):
                rows = effect.message.frame
                settle = Settle("c", rows.low, accepted=((rows.low, rows.high),))
                self._under_way.append(("consumer", name, settle))
                self._under_way.append(("consumer", name, Credit("c", len(rows))))


def _broker(
    name: str, queues: tuple[QueueConfig, ...], aliases: tuple[AliasConfig, ...]
) -> QueueBroker:
    parameters = QueueParameters()
    return QueueBroker(name, queues, aliases, parameters, Tokens(), saved={}, logs={}, now=NOW)


def main() -> None:
    """Run both variants, and print the steps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=4000)
    parser.add_argument("--commit", type=int, default=4)
    arguments = parser.parse_args()
    for way, queue in (("direct", "work@two"), ("alias", "orders")):
        steps = Steps(queue)
        steps.run(WARM_UP, arguments.commit)
        steps.spent_ns.clear()
        steps.run(arguments.batches, arguments.commit)
        each_us = {step: ns / arguments.batches / 1000 for step, ns in steps.spent_ns.items()}
        shown = ", ".join(f"{step} {us:.1f}" for step, us in each_us.items())
        print(f"{way}: {sum(each_us.values()):.0f} us a batch ({shown})")


if __name__ == "__main__":
    main()
