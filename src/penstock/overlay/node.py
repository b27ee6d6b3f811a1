"""A broker: the overlay and the services on it, composed into one machine."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.core.clock import SECOND, Duration, Instant, earliest
from penstock.core.datagrams import ReceivedTogether
from penstock.core.intervals import Tick
from penstock.core.machine import (
    DeadlineReached,
    Effect,
    Fact,
    LinkDown,
    LinkName,
    LinkUp,
    LogRead,
    Persisted,
    PersistFailed,
    Priority,
    QueuesMeasured,
    Received,
    Send,
    SessionClosed,
    SessionOpened,
    Trace,
)
from penstock.core.service import Service
from penstock.core.tokens import Tokens
from penstock.overlay.messages import LinkState
from penstock.overlay.routing import LinkStateDatabase, next_hops_of, trees_of
from penstock.overlay.wire import SERVICE_OF_MESSAGE
from penstock.services.datagram.broker import DatagramBroker
from penstock.services.guaranteed.broker import GuaranteedBroker
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.multicast.broker import MulticastBroker
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.queues.broker import QueueBroker
from penstock.services.queues.parameters import AliasConfig, QueueConfig, QueueParameters

SETTLE_WITHIN: Duration = 2 * SECOND
"""After its start a broker waits so long for its neighbours before it goes on without them."""

SERVICES = 4
"""How many services share a broker's tokens."""

DATAGRAMS = 3
"""The place of the datagram service among them."""

EVERY_SERVICE = (1 << SERVICES) - 1
"""The set of all services, a bit for each."""


class NodeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a broker is, apart from the addresses and disks that a world gives it."""

    name: str
    neighbours: dict[str, int] = msgspec.field(default_factory=dict)
    """The brokers that it may be linked to, with the cost of the link."""

    pubends: tuple[str, ...] = ()
    guaranteed: GuaranteedParameters = GuaranteedParameters()
    queues: tuple[QueueConfig, ...] = ()
    aliases: tuple[AliasConfig, ...] = ()
    queue_parameters: QueueParameters = QueueParameters()
    multicast: MulticastParameters = MulticastParameters()
    trace_interval_ns: Duration = SECOND
    """How often the broker measures itself; 0 means never."""


NOBODY = LinkState("", 0, 0, {}, ())
"""Stands for a neighbour that was never heard."""


class BrokerNode:
    """One broker of the overlay."""

    def __init__(
        self,
        config: NodeConfig,
        *,
        saved: Mapping[str, bytes],
        logs: Mapping[str, tuple[Tick, Tick, int]],
        now: Instant,
    ) -> None:
        """``saved`` and ``logs`` are what was found on the disk."""
        self.config = config
        self.name = config.name
        self._incarnation = now
        self._sequence = 0
        self._rival_started_at: Instant | None = None
        self._links: dict[LinkName, None] = {}
        self._queued_bytes: dict[LinkName, int] = {}
        self._database = LinkStateDatabase()
        self._settle_at: Instant | None = now + SETTLE_WITHIN
        self._trace_at: Instant | None = now if config.trace_interval_ns else None
        self.guaranteed = GuaranteedBroker(
            config.name,
            config.pubends,
            config.guaranteed,
            Tokens(0, SERVICES),
            saved=saved,
            logs=logs,
            queued_bytes=self._queued_bytes,
            now=now,
        )
        self.queues = QueueBroker(
            config.name,
            config.queues,
            config.aliases,
            config.queue_parameters,
            Tokens(1, SERVICES),
            saved=saved,
            logs=logs,
            now=now,
        )
        self.datagram = DatagramBroker(config.name, now=now)
        self.multicast = MulticastBroker(
            config.name,
            config.multicast,
            self._database,
            queued_bytes=self._queued_bytes,
            now=now,
        )
        self._by_number: dict[int, Service] = {
            0: self.guaranteed,
            1: self.queues,
            2: self.multicast,
            DATAGRAMS: self.datagram,
        }
        self._services: tuple[Service, ...] = tuple(self._by_number.values())
        self._due: list[Instant | None] = [None] * SERVICES
        self._touched = EVERY_SERVICE

    def start(self, *, now: Instant) -> list[Effect]:
        """What the broker does before it hears anything."""
        started = [effect for service in self._services for effect in service.start()]
        return [*started, *self._describe_itself(now), *self._settle(now)]

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Take one fact in and give the orders that follow from it."""
        if isinstance(fact, Received):
            if isinstance(fact.message, LinkState):
                self._touched = EVERY_SERVICE
                return self._link_state(fact.link, fact.message, now)
            service = self._service(SERVICE_OF_MESSAGE[type(fact.message)])
            return service.received(fact.link, fact.message, now)
        if isinstance(fact, ReceivedTogether):
            # Only datagrams come in such numbers, and they are all of one service.
            self._service(DATAGRAMS)
            return self.datagram.received_together(fact.link, fact.messages, now)
        match fact:
            case Persisted(token):
                return self._service(token % SERVICES).resolved(token, None, now)
            case PersistFailed(token):
                return self._service(token % SERVICES).resolved(token, fact, now)
            case LogRead(token):
                return self._service(token % SERVICES).log_read(fact, now)
        self._touched = EVERY_SERVICE
        return self._handle_for_all(fact, now)

    def _service(self, number: int) -> Service:
        """The service that a fact is for, whose deadline may be another one afterwards."""
        self._touched |= 1 << number
        return self._by_number[number]

    def _handle_for_all(self, fact: Fact, now: Instant) -> list[Effect]:
        match fact:
            case DeadlineReached():
                return self._deadline(now)
            case QueuesMeasured(queued_bytes):
                self._queued_bytes.clear()
                self._queued_bytes.update(queued_bytes)
                return self.multicast.queues_measured(now)
            case SessionOpened():
                return []
            case SessionClosed(session):
                return [e for s in self._services for e in s.session_closed(session, now)]
            case LinkUp(link):
                return self._link_up(link, now)
            case LinkDown(link):
                return self._link_down(link, now)
        raise TypeError(f"a broker does not understand {type(fact).__name__}")

    # -- the overlay ------------------------------------------------------------------------

    def _link_up(self, link: LinkName, now: Instant) -> list[Effect]:
        self._links[link] = None
        known = [Send(link, state, Priority.CONTROL) for state in self._database.states()]
        told = [effect for service in self._services for effect in service.link_up(link, now)]
        return [*known, *self._describe_itself(now), *told]

    def _link_down(self, link: LinkName, now: Instant) -> list[Effect]:
        self._links.pop(link, None)
        told = [effect for service in self._services for effect in service.link_down(link, now)]
        return [*told, *self._describe_itself(now)]

    def _describe_itself(self, now: Instant) -> list[Effect]:
        self._sequence += 1
        neighbours = {link: self.config.neighbours.get(link, 1) for link in sorted(self._links)}
        state = LinkState(
            self.name, self._incarnation, self._sequence, neighbours, self.config.pubends
        )
        self._database.learn(state)
        return [*self._flood(state, ""), *self._recompute(now)]

    def _link_state(self, link: LinkName, state: LinkState, now: Instant) -> list[Effect]:
        if state.broker == self.name:
            if state.incarnation > self._incarnation:
                self._rival_started_at = state.incarnation
            return []
        if not self._database.learn(state):
            return []
        return [*self._flood(state, link), *self._recompute(now), *self._settle(now)]

    def _settle(self, now: Instant) -> list[Effect]:
        """Tell the services, once, when every neighbour was heard or has had its time."""
        if self._settle_at is None:
            return []
        states = [self._database.get(name) or NOBODY for name in self.config.neighbours]
        heard = all(self.name in state.neighbours for state in states)
        if not heard and now < self._settle_at:
            return []
        self._settle_at = None
        return [effect for service in self._services for effect in service.overlay_settled(now)]

    def _flood(self, state: LinkState, except_link: LinkName) -> list[Effect]:
        return [Send(link, state, Priority.CONTROL) for link in self._links if link != except_link]

    def _recompute(self, now: Instant) -> list[Effect]:
        trees = trees_of(self.name, self._database)
        hops = next_hops_of(self.name, self._database)
        return [e for service in self._services for e in service.routes_changed(trees, hops, now)]

    # -- time -------------------------------------------------------------------------------

    def _deadline(self, now: Instant) -> list[Effect]:
        out = self._settle(now)
        for service in self._services:
            deadline = service.next_deadline()
            if deadline is not None and deadline <= now:
                out += service.deadline(now)
        if self._trace_at is not None and now >= self._trace_at:
            self._trace_at = now + self.config.trace_interval_ns
            for service in self._services:
                out += [Trace(record) for record in service.records(now)]
        return out

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        first = earliest(self._trace_at, self._settle_at)
        due = self._due
        if self._touched:
            for number, service in self._by_number.items():
                if self._touched >> number & 1:
                    due[number] = service.next_deadline()
            self._touched = 0
        for deadline in due:
            if deadline is not None and (first is None or deadline < first):
                first = deadline
        return first

    def problems(self, now: Instant) -> list[str]:
        """What an operator should know, in whole sentences."""
        said = [
            problem
            for pubend in self.guaranteed.pubends.values()
            for problem in pubend.problems(now)
        ]
        if self._rival_started_at is not None:
            said.append(
                f"another broker called {self.name!r} is in the overlay: it was started later than "
                "this one, and messages for this one may reach it; give one of them another name, "
                "or stop it"
            )
        return said

    def check_invariants(self) -> None:
        """Every part is in a possible state."""
        for service in self._services:
            service.check_invariants()
