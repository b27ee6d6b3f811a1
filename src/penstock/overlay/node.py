"""The machine of a broker, composed of the overlay and the services."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

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
from penstock.core.message import Message
from penstock.core.service import BrokerContext, Service
from penstock.core.tokens import Tokens
from penstock.core.why import Asker, WhyRequest
from penstock.overlay.messages import LinkState
from penstock.overlay.routing import (
    SMALLEST_NAME,
    LinkStateDatabase,
    choices_of,
    next_hops_of,
    trees_of,
)
from penstock.overlay.wire import service_of_message
from penstock.services.description import ServiceDescription
from penstock.services.registry import broker_services

SETTLE_WITHIN: Duration = 2 * SECOND
"""How long a starting broker waits for its neighbours before it continues without them."""

CHOOSE_AFTER: Duration = 3 * SECOND
"""How long after its start a broker chooses its trees: when others that were started with it are
known, and most subscribers have not registered yet."""

LISTED_NAMES = 20
"""How many known names of one kind the answer to a request with an unknown name lists."""


class NodeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration of a broker, without the addresses and disks of its environment."""

    name: str
    neighbours: dict[str, int] = msgspec.field(default_factory=dict)
    """The brokers that it may be linked to, with the cost of the link."""

    settings: tuple[Any, ...] = ()
    """One settings struct for each service whose settings differ from the defaults."""

    own_streams: tuple[str, ...] = ()
    """Streams on which the broker itself publishes."""

    trace_interval_ns: Duration = SECOND
    """How often the broker measures itself; 0 means never."""


def node_config(
    name: str,
    neighbours: Mapping[str, int] | None = None,
    *,
    trace_interval_ns: Duration = SECOND,
    **keys: Any,
) -> NodeConfig:
    """Build a configuration from the fields of the services' settings, as keywords."""
    settings = []
    for service in broker_services():
        own = [key for key in getattr(service.settings, "__struct_fields__", ()) if key in keys]
        if service.settings is not None and own:
            settings.append(service.settings(**{key: keys.pop(key) for key in own}))
    if keys:
        raise TypeError(f"no service has the setting {next(iter(keys))!r}")
    return NodeConfig(
        name, dict(neighbours or {}), tuple(settings), trace_interval_ns=trace_interval_ns
    )


NOBODY = LinkState("", 0, 0, {}, ())
"""The link state of a neighbour that has not sent one."""


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
        """``saved`` and ``logs`` were recovered from the disk."""
        self.config = config
        self.name = config.name
        self._incarnation = now
        self._sequence = 0
        self._rival_started_at: Instant | None = None
        self._links: dict[LinkName, None] = {}
        self._queued_bytes: dict[LinkName, int] = {}
        self._flow_bytes: dict[LinkName, dict[str, int]] = {}
        self._database = LinkStateDatabase()
        self._settle_at: Instant | None = now + SETTLE_WITHIN
        self._choose_at: Instant | None = now + CHOOSE_AFTER
        self._choices: tuple[int, ...] = (0,)
        self._trace_at: Instant | None = now if config.trace_interval_ns else None
        self.services: dict[str, Service] = self._build_services(saved, logs, now)
        """The services by name."""
        self._by_number = tuple(self.services.values())
        self._number_of = service_of_message()
        self._streams = tuple(name for each in self._by_number for name in each.announced_streams())
        self._due: list[Instant | None] = [None] * len(self._by_number)
        self._every_service = (1 << len(self._by_number)) - 1
        self._touched = self._every_service

    def _build_services(
        self,
        saved: Mapping[str, bytes],
        logs: Mapping[str, tuple[Tick, Tick, int]],
        now: Instant,
    ) -> dict[str, Service]:
        described = broker_services()
        return {
            each.name: each.build(
                BrokerContext(
                    broker=self.name,
                    settings=_settings_of(self.config, each),
                    own_streams=self.config.own_streams,
                    tokens=Tokens(number, len(described)),
                    saved=saved,
                    logs=logs,
                    queued_bytes=self._queued_bytes,
                    flow_bytes=self._flow_bytes,
                    overlay=self._database,
                    now=now,
                )
            )
            for number, each in enumerate(described)
        }

    def start(self, *, now: Instant) -> list[Effect]:
        """The effects of the broker's start, before its first fact."""
        started = [effect for service in self._by_number for effect in service.start()]
        return [*started, *self._describe_itself(now), *self._settle(now)]

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Process one fact and return the resulting effects."""
        if isinstance(fact, Received):
            if isinstance(fact.message, LinkState):
                self._touched = self._every_service
                return self._link_state(fact.link, fact.message, now)
            if isinstance(fact.message, WhyRequest):
                return self._why(fact.link, fact.message, now)
            service = self._service(self._number_of[type(fact.message)])
            return service.received(fact.link, fact.message, now)
        if isinstance(fact, ReceivedTogether):
            return self._received_together(fact, now)
        match fact:
            case Persisted(token):
                return self._service(token % len(self._by_number)).resolved(token, None, now)
            case PersistFailed(token):
                return self._service(token % len(self._by_number)).resolved(token, fact, now)
            case LogRead(token):
                return self._service(token % len(self._by_number)).log_read(fact, now)
        self._touched = self._every_service
        return self._handle_for_all(fact, now)

    def _why(self, session: LinkName, question: WhyRequest, now: Instant) -> list[Effect]:
        """Let the first service that knows the name explain it."""
        for number, (name, service) in enumerate(self.services.items()):
            found = service.why(question.name, Asker(session, question, name), now)
            if found is not None:
                self._touched |= 1 << number
                return found
        return [Asker(session, question, "").refused(self._unknown(question.name))]

    def _unknown(self, name: str) -> str:
        listed = [
            f"its {kind} are {', '.join(names[:LISTED_NAMES])}{', …' * (len(names) > LISTED_NAMES)}"
            for service in self._by_number
            for kind, names in service.known_names().items()
            if names
        ]
        return f"broker {self.name!r} knows no {name!r}: {'; '.join(listed) or 'it has no names'}"

    def _received_together(self, fact: ReceivedTogether, now: Instant) -> list[Effect]:
        """Pass runs of messages of one service to that service, in the order of the datagrams."""
        messages = fact.messages
        if len(set(map(type, messages))) == 1:
            # The rule: what arrives at once is of one type.
            service = self._service(self._number_of[type(messages[0])])
            return service.received_together(fact.link, messages, now)
        runs = groupby(messages, lambda message: self._number_of[type(message)])
        return [
            effect
            for number, run in runs
            for effect in self._service(number).received_together(fact.link, [*run], now)
        ]

    def _service(self, number: int) -> Service:
        """The service that handles a fact; its deadline is read again afterwards."""
        self._touched |= 1 << number
        return self._by_number[number]

    def _handle_for_all(self, fact: Fact, now: Instant) -> list[Effect]:
        match fact:
            case DeadlineReached():
                return self._deadline(now)
            case QueuesMeasured(queued_bytes, flow_bytes):
                self._queued_bytes.clear()
                self._queued_bytes.update(queued_bytes)
                self._flow_bytes.clear()
                self._flow_bytes.update(flow_bytes)
                self._touched = self._every_service
                return [e for each in self._by_number for e in each.queues_measured(now)]
            case SessionOpened():
                return []
            case SessionClosed(session):
                return [e for s in self._by_number for e in s.session_closed(session, now)]
            case LinkUp(link):
                return self._link_up(link, now)
            case LinkDown(link):
                return self._link_down(link, now)
        raise TypeError(f"a broker does not understand {type(fact).__name__}")

    # -- the overlay ------------------------------------------------------------------------

    def _link_up(self, link: LinkName, now: Instant) -> list[Effect]:
        self._links[link] = None
        known = [Send(link, state, Priority.CONTROL) for state in self._database.states()]
        told = [effect for service in self._by_number for effect in service.link_up(link, now)]
        return [*known, *self._describe_itself(now), *told]

    def _link_down(self, link: LinkName, now: Instant) -> list[Effect]:
        self._links.pop(link, None)
        told = [effect for service in self._by_number for effect in service.link_down(link, now)]
        return [*told, *self._describe_itself(now)]

    def _describe_itself(self, now: Instant) -> list[Effect]:
        self._sequence += 1
        neighbours = {link: self.config.neighbours.get(link, 1) for link in sorted(self._links)}
        state = LinkState(
            self.name,
            self._incarnation,
            self._sequence,
            neighbours,
            self._streams,
            self._choices,
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
        """Notify the services once, when all neighbours are linked or the time is over."""
        if self._settle_at is None:
            return []
        states = [self._database.get(name) or NOBODY for name in self.config.neighbours]
        heard = all(self.name in state.neighbours for state in states)
        if not heard and now < self._settle_at:
            return []
        self._settle_at = None
        return [effect for service in self._by_number for effect in service.overlay_settled(now)]

    def _flood(self, state: LinkState, except_link: LinkName) -> list[Effect]:
        return [Send(link, state, Priority.CONTROL) for link in self._links if link != except_link]

    def _recompute(self, now: Instant) -> list[Effect]:
        if self._choose_at is None and self._choose_trees():
            return self._describe_itself(now)
        trees = trees_of(self.name, self._database)
        hops = next_hops_of(self.name, self._database)
        return [e for service in self._by_number for e in service.routes_changed(trees, hops, now)]

    def _choose_trees(self) -> bool:
        """Use equal paths, once they are known; True if there are more trees than before."""
        choices = choices_of(self.name, self._database) if self._streams else self._choices
        has_chosen = self._choices != (SMALLEST_NAME,)
        if choices == self._choices or (has_chosen and len(choices) <= len(self._choices)):
            return False
        first = self._choices[0] if has_chosen else choices[0]
        self._choices = tuple(range(first, first + len(choices)))
        return True

    # -- time -------------------------------------------------------------------------------

    def _deadline(self, now: Instant) -> list[Effect]:
        out = self._settle(now)
        if self._choose_at is not None and now >= self._choose_at:
            self._choose_at = None
            if self._choose_trees():
                out += self._describe_itself(now)
        for service in self._by_number:
            deadline = service.next_deadline()
            if deadline is not None and deadline <= now:
                out += service.deadline(now)
        if self._trace_at is not None and now >= self._trace_at:
            self._trace_at = now + self.config.trace_interval_ns
            for service in self._by_number:
                out += [Trace(record) for record in service.records(now)]
        return out

    def next_deadline(self) -> Instant | None:
        """The earliest deadline of the broker and its services."""
        first = earliest(self._trace_at, self._settle_at, self._choose_at)
        due = self._due
        if self._touched:
            for number, service in enumerate(self._by_number):
                if self._touched >> number & 1:
                    due[number] = service.next_deadline()
            self._touched = 0
        for deadline in due:
            if deadline is not None and (first is None or deadline < first):
                first = deadline
        return first

    def problems(self, now: Instant) -> list[str]:
        """Problems that an operator should know, as sentences."""
        said = [problem for each in self._by_number for problem in each.problems(now)]
        if self._rival_started_at is not None:
            said.append(
                f"another broker called {self.name!r} is in the overlay: it was started later than "
                "this one, and messages for this one may reach it; give one of them another name, "
                "or stop it"
            )
        return said

    def clock_measured(self, ahead_ns: Duration) -> None:
        """Tell the services how far the broker's clock is ahead of the time of day."""
        for service in self._by_number:
            service.clock_measured(ahead_ns)

    def owns(self, session: LinkName, message: Message) -> bool:
        """Whether a request concerns only what belongs to the session that sent it."""
        number = self._number_of.get(type(message))
        return number is not None and self._by_number[number].owns(session, message)

    def status(self, now: Instant) -> dict[str, Any]:
        """The status of each service."""
        return {name: service.status(now) for name, service in self.services.items()}

    def check_invariants(self) -> None:
        for service in self._by_number:
            service.check_invariants()


def _settings_of(config: NodeConfig, service: ServiceDescription) -> Any:
    """The settings of a service: as configured, or the defaults."""
    kind = service.settings
    if kind is None:
        return None
    return next((each for each in config.settings if isinstance(each, kind)), kind())
