"""A tiny network of brokers whose messages the test delivers by hand.

Every broker is a real ``BrokerNode``; its disk answers at once, its links lose nothing unless the
test says so, and time stands still unless the test moves it.  What was said can be read as a
conversation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.core.machine import (
    CloseSession,
    DeadlineReached,
    Effect,
    Fact,
    LinkDown,
    LinkUp,
    LogRead,
    Persist,
    Persisted,
    PersistState,
    QueuesMeasured,
    ReadLog,
    Received,
    Send,
    SessionClosed,
    TrimLog,
)
from penstock.overlay.node import BrokerNode, node_config
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.messages import Publish
from penstock.services.guaranteed.parameters import GuaranteedParameters

START: Instant = 1000 * SECOND
STEPS = 10_000
"""No conversation is this long: one that is goes round in circles."""


class Network:
    """Brokers in a line or a tree, named by their links."""

    def __init__(
        self, links: list[tuple[str, str]], pubends: dict[str, tuple[str, ...]], **parameters: Any
    ) -> None:
        """Start all brokers, bring all links up, and let everything settle."""
        parameters.setdefault("congestion", CongestionParameters(law="paper"))
        self.now = START
        self.spoken: list[tuple[Instant, str, str, Any]] = []
        self.lose: Callable[[str, str, Any], bool] = lambda source, target, message: False
        self._facts: deque[tuple[str, Fact]] = deque()
        self._logs: dict[tuple[str, str], list[Any]] = {}
        self.closed: list[CloseSession] = []
        self.saved: dict[str, dict[str, bytes | None]] = {}
        self.nodes: dict[str, BrokerNode] = {}
        names = sorted({name for link in links for name in link} | pubends.keys())
        for name in names:
            neighbours = {b if a == name else a: 1 for a, b in links if name in (a, b)}
            config = node_config(
                name,
                neighbours,
                pubends=pubends.get(name, ()),
                guaranteed=GuaranteedParameters(**parameters),
                trace_interval_ns=0,
            )
            self.nodes[name] = BrokerNode(config, saved={}, logs={}, now=self.now)
        for name, node in self.nodes.items():
            self._carry_out(name, node.start(now=self.now))
        for a, b in links:
            self.tell(a, LinkUp(b))
            self.tell(b, LinkUp(a))
        self.deliver()

    def tell(self, broker: str, fact: Fact) -> None:
        """Give a broker a fact, after those that wait."""
        self._facts.append((broker, fact))

    def cut(self, a: str, b: str) -> None:
        """A link goes down at both ends."""
        self.tell(a, LinkDown(b))
        self.tell(b, LinkDown(a))
        self.deliver()

    def client(self, session: str, broker: str, message: Any) -> None:
        """A client says something, and everything that follows from it happens."""
        self.spoken.append((self.now, session, broker, message))
        self.tell(broker, Received(session, message))
        self.deliver()

    def leave(self, session: str, broker: str) -> None:
        """A client's connection is gone."""
        self.tell(broker, SessionClosed(session))
        self.deliver()

    def publish(self, session: str, broker: str, first: int, *sides: str) -> None:
        """A producer, opened before under the session's name, publishes one row for each side."""
        rows = Batch.from_rows([({"side": side}, b"") for side in sides])
        self.client(session, broker, Publish(session, first, rows))

    def queues(self, broker: str, **queued_bytes: int) -> None:
        """So much waits on a broker's links."""
        self.tell(broker, QueuesMeasured(queued_bytes))
        self.deliver()

    def deliver(self) -> None:
        """Deliver messages until no broker sends any more."""
        for _ in range(STEPS):
            if not self._facts:
                return
            broker, fact = self._facts.popleft()
            node = self.nodes[broker]
            self._carry_out(broker, node.handle(fact, now=self.now))
            node.check_invariants()
        raise AssertionError(f"the brokers did not fall silent within {STEPS} messages")

    def advance(self, duration: int = 100 * MILLISECOND) -> None:
        """Let time pass, stopping at every deadline."""
        end = self.now + duration
        for _ in range(STEPS):
            deadlines = [node.next_deadline() for node in self.nodes.values()]
            due = min((deadline for deadline in deadlines if deadline is not None), default=end)
            self.now = max(self.now, min(due, end))
            if due > end:
                return
            for name, node in self.nodes.items():
                deadline = node.next_deadline()
                if deadline is not None and deadline <= self.now:
                    self.tell(name, DeadlineReached())
            self.deliver()
        raise AssertionError(f"more than {STEPS} deadlines in {duration} ns")

    def _carry_out(self, broker: str, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(link, message):
                    self._send(broker, link, message)
                case Persist(token, log, entry):
                    self._logs.setdefault((broker, log), []).append(entry)
                    self.tell(broker, Persisted(token))
                case PersistState(token, values):
                    self.saved.setdefault(broker, {}).update(values)
                    self.tell(broker, Persisted(token))
                case ReadLog(token, log, low, high, _):
                    entries = self._logs.get((broker, log), [])
                    touched = [e for e in entries if e.frame.low < high and e.frame.high > low]
                    self.tell(broker, LogRead(token, tuple(touched), high))
                case CloseSession():
                    self.closed.append(effect)
                case TrimLog():
                    pass
                case _:
                    assert not isinstance(effect, Send), effect

    def _send(self, source: str, target: str, message: Any) -> None:
        self.spoken.append((self.now, source, target, message))
        if target not in self.nodes:
            return
        if self.lose(source, target, message):
            self.spoken[-1] = (self.now, source, f"{target} (lost)", message)
            return
        self.tell(target, Received(source, message))

    def heard(self, target: str, kind: type[Any]) -> list[Any]:
        """The messages of a kind that a broker or client got, in order."""
        return [m for _, _, to, m in self.spoken if to == target and isinstance(m, kind)]


@pytest.fixture
def network() -> type[Network]:
    """The class, to be made as the test needs it."""
    return Network
