"""The guaranteed service at one broker: pubends, relays, edge and staging as one machine.

A broker may host publishers, relay, and host subscribers, in any combination.  This machine joins
the parts: it dispatches messages, answers of the store and deadlines to them, and hands on what one
part has for another.  Messages between the parts go through the ``LocalExchange``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from penstock.content.rows.frame import Frame
from penstock.core.clock import Duration, Instant, earliest
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, LinkName, LogRead, PersistFailed, Priority, Send
from penstock.core.message import Message
from penstock.core.service import Service
from penstock.core.tokens import Tokens
from penstock.core.trace import TraceRecord
from penstock.core.trees import Tree
from penstock.core.why import Asker
from penstock.mechanisms.lateness import Lateness
from penstock.services.guaranteed.dispatch import Handlers, joined
from penstock.services.guaranteed.edge.cursors import CURSORS
from penstock.services.guaranteed.edge.durable import EDGE
from penstock.services.guaranteed.edge.edge import Edge
from penstock.services.guaranteed.links import LOCAL_EDGE, LOCAL_RELAY, LOCAL_STAGING
from penstock.services.guaranteed.local_exchange import LocalExchange, LocalLink
from penstock.services.guaranteed.messages import (
    Acknowledgement,
    ClaimsSaved,
    FullLinkReport,
    Unsubscribe,
    UpstreamCongestionAlert,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.questions import Questions
from penstock.services.guaranteed.relay.relays import Relays
from penstock.services.guaranteed.relay.tree_relay import TreeRelay
from penstock.services.guaranteed.source.hosted_pubends import HostedPubends
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.source.source_holds import HOLDS
from penstock.services.guaranteed.staging.pubend_gate import StagingGate
from penstock.services.guaranteed.staging.staged_epoch import STAGING
from penstock.services.guaranteed.staging.staging import Staging
from penstock.services.guaranteed.status import GuaranteedStatus, status_of
from penstock.services.guaranteed.telemetry import service_records

Resolver: TypeAlias = Callable[[int, PersistFailed | None, Instant, list[Effect]], None]
"""Takes the store's answer to an order: its token, and the failure if it was refused."""


class GuaranteedBroker(Service):
    """Pubends, relays, edge and staging of one broker."""

    def __init__(
        self,
        broker: str,
        pubends: tuple[str, ...],
        parameters: GuaranteedParameters,
        tokens: Tokens,
        *,
        saved: Mapping[str, bytes],
        logs: Mapping[str, tuple[Tick, Tick, int]],
        queued_bytes: Mapping[LinkName, int],
        flow_bytes: Mapping[LinkName, Mapping[str, int]],
        now: Instant,
    ) -> None:
        """``saved`` and ``logs`` are what was found on the disk.

        ``queued_bytes`` and ``flow_bytes`` are kept up to date by the owner: what waits on each
        link at present, and the data among it by flow.
        """
        self._flow_bytes = flow_bytes
        self._broker = broker
        self._tokens = tokens
        self._lateness = Lateness()
        self._next_hops: Mapping[str, LinkName] = {}
        self._source = HostedPubends(
            broker, pubends, parameters, tokens, saved=saved, logs=logs, now=now
        )
        self._by_log = self._source.by_log
        self._relays = Relays(broker, parameters, self._source.by_name, queued_bytes)
        self.edge = Edge(broker, parameters, tokens, saved, now)
        self._staging = Staging(
            parameters,
            tokens,
            StagingGate(self._source),
            saved=saved,
            log_bounds=logs.get(STAGING),
            now=now,
        )
        self._questions = questions = Questions(broker, self._source.by_name, self.edge)
        between_parts: Handlers = {
            UpstreamCongestionAlert: self._alert,
            FullLinkReport: self._link_reported,
            Acknowledgement: self._acknowledged,
            ClaimsSaved: self._claims_saved,
        }
        self._handlers = joined(
            self._source.handlers,
            self._relays.handlers,
            self.edge.handlers,
            self._staging.handlers,
            questions.handlers,
            between_parts,
        )
        self._loopback = LocalExchange(
            {
                LOCAL_RELAY: LocalLink(LOCAL_EDGE, self._handlers),
                LOCAL_EDGE: LocalLink(LOCAL_RELAY, self.edge.relay_handlers),
                LOCAL_STAGING: LocalLink(LOCAL_STAGING, self._staging.pubend_handlers),
            }
        )
        self._resolvers: dict[str | None, Resolver] = {
            EDGE: self.edge.resolved,
            CURSORS: self.edge.cursor_resolved,
            HOLDS: self._holds_resolved,
            STAGING: self._staging.resolved,
        }

    @property
    def pubends(self) -> Mapping[str, Pubend]:
        """The pubends hosted here."""
        return self._source.by_name

    def clock_measured(self, ahead_ns: Duration) -> None:
        """The instants that this machine is told are ahead of the time of day by ``ahead_ns``."""
        self.edge.clock_measured(ahead_ns)
        self._source.clock_measured(ahead_ns)

    def start(self) -> list[Effect]:
        """What must be done before anything else."""
        return self._source.start() + self._staging.start()

    # -- the overlay ------------------------------------------------------------------------

    def routes_changed(
        self, trees: Mapping[str, Tree], next_hops: Mapping[str, LinkName], now: Instant
    ) -> list[Effect]:
        """The overlay found other ways."""
        out: list[Effect] = []
        self._next_hops = next_hops
        changed = self._relays.trees_changed(trees, out)
        self.edge.trees_changed(trees, out)
        for tree in changed:
            self.edge.path_changed(tree, now, out)
        return self._loopback.run_until_quiet(out, now)

    def overlay_settled(self, now: Instant) -> list[Effect]:
        """The broker knows the overlay as well as it is going to."""
        out: list[Effect] = []
        self.edge.overlay_settled(now, out)
        return self._loopback.run_until_quiet(out, now)

    def link_up(self, link: LinkName, now: Instant) -> list[Effect]:
        """A neighbour is connected."""
        out: list[Effect] = []
        self._relays.link_up(link, out)
        return self._loopback.run_until_quiet(out, now)

    def link_down(self, link: LinkName, now: Instant) -> list[Effect]:
        """The connection to a neighbour is lost."""
        out: list[Effect] = []
        self._relays.link_down(link, out)
        self._source.link_down(link, now, out)
        return self._loopback.run_until_quiet(out, now)

    def queues_measured(self, now: Instant) -> list[Effect]:
        """The queues of the links were measured."""
        out: list[Effect] = []
        self._relays.links_measured(self._flow_bytes, now, out)
        self._source.links_measured(self._flow_bytes, now, out)
        return self._loopback.run_until_quiet(out, now) if out else out

    # -- messages ---------------------------------------------------------------------------

    def received(self, link: LinkName, message: Message, now: Instant) -> list[Effect]:
        """A message from a neighbour or a client."""
        handler = self._handlers.get(type(message))
        if handler is None:
            return []
        out: list[Effect] = []
        handler(link, message, now, out)
        return self._loopback.run_until_quiet(out, now)

    def _alert(
        self, link: LinkName, message: UpstreamCongestionAlert, now: Instant, out: list[Effect]
    ) -> None:
        alert = self._relays.alert(link, message, out)
        if alert is not None:
            self._source.alert(alert, now, out)

    def _link_reported(
        self, link: LinkName, message: FullLinkReport, now: Instant, out: list[Effect]
    ) -> None:
        if self._relays.link_reported(link, message, now, out):
            self._source.link_reported(message, now, out)

    def _acknowledged(
        self, link: LinkName, message: Acknowledgement, now: Instant, out: list[Effect]
    ) -> None:
        if self._relays.acknowledge(message, out):
            answer = self._source.acknowledged(message, now, out)
            if answer is not None:
                self._tell_edge(answer, now, out)

    def _claims_saved(
        self, link: LinkName, message: ClaimsSaved, now: Instant, out: list[Effect]
    ) -> None:
        self._tell_edge(message, now, out)

    def _tell_edge(self, message: ClaimsSaved, now: Instant, out: list[Effect]) -> None:
        """Give a source's answer to its edge: the one of this broker, or one further on."""
        if message.edge == self._broker:
            self.edge.claims_saved(message, now, out)
        elif message.edge in self._next_hops:
            out.append(Send(self._next_hops[message.edge], message, Priority.CONTROL))

    def session_closed(self, session: LinkName, now: Instant) -> list[Effect]:
        """A client's connection is gone."""
        out: list[Effect] = []
        self._source.session_closed(session)
        self._staging.session_closed(session)
        self.edge.session_closed(session, now, out)
        return self._loopback.run_until_quiet(out, now)

    # -- the store's answers ----------------------------------------------------------------

    def resolved(self, token: int, failure: PersistFailed | None, now: Instant) -> list[Effect]:
        """An order to the store is durable, or was refused."""
        out: list[Effect] = []
        owner = self._tokens.settle(token)
        pubend = self._by_log.get(owner)
        if pubend is not None:
            spoken = self._source.resolved(pubend, token, failure, now, out)
            relay = self._relays.of_pubend(pubend.name)
            if relay is not None:
                self._publish(pubend, relay, spoken, now, out)
        elif owner in self._resolvers:
            self._resolvers[owner](token, failure, now, out)
        return self._loopback.run_until_quiet(out, now)

    def _publish(
        self,
        pubend: Pubend,
        relay: TreeRelay,
        spoken: list[Frame],
        now: Instant,
        out: list[Effect],
    ) -> None:
        """Send durable frames down the tree, and note what was put on the links."""
        before = len(out)
        relay.published(pubend.name, spoken, now, out)
        by_link: dict[LinkName, int] = {}
        for effect in out[before:]:
            if isinstance(effect, Send) and effect.link != LOCAL_EDGE:
                weight = effect.message.frame.weight
                by_link[effect.link] = by_link.get(effect.link, 0) + weight
        if by_link:
            whole = sum(frame.weight for frame in spoken)
            pubend.control.links.sent(whole, by_link, now)

    def _holds_resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        for answer in self._source.claims_saved(token, failure):
            self._tell_edge(answer, now, out)

    def log_read(self, fact: LogRead, now: Instant) -> list[Effect]:
        """The store answered a read."""
        out: list[Effect] = []
        owner = self._tokens.settle(fact.token)
        pubend = self._by_log.get(owner)
        if pubend is not None:
            answer = self._source.log_read(pubend, fact, now, out)
            relay = self._relays.of_pubend(pubend.name)
            if answer is not None and relay is not None:
                relay.read(pubend.name, answer, out)
        elif owner == STAGING:
            self._staging.log_read(fact, now, out)
        return self._loopback.run_until_quiet(out, now)

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant) -> list[Effect]:
        """Whatever is due."""
        out: list[Effect] = []
        self._lateness.woken(self.next_deadline(), now)
        for pubend in self._source.due(now):
            query = pubend.query_due(now)
            if query is not None:
                relay = self._relays.of_pubend(pubend.name)
                if relay is not None:
                    relay.query(query, out)
                self._source.elapse(pubend, now, out)
            self._source.deadline(pubend, now, out)
        edge_deadline = self.edge.next_deadline()
        if edge_deadline is not None and edge_deadline <= now:
            self.edge.deadline(now, out)
        self._staging.deadline(now, out)
        return self._loopback.run_until_quiet(out, now)

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        return earliest(
            self._source.next_deadline(), self.edge.next_deadline(), self._staging.next_deadline()
        )

    def records(self, now: Instant) -> Iterable[TraceRecord]:
        """What the service measures of itself."""
        return service_records(self._broker, self.pubends, self.edge, now)

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if the state of a part is impossible."""
        self._source.check_invariants()
        self.edge.check_invariants()
        self._staging.check_invariants()

    # -- people -----------------------------------------------------------------------------

    def announced_streams(self) -> tuple[str, ...]:
        """The pubends of this broker."""
        return tuple(self.pubends)

    def status(self, now: Instant) -> GuaranteedStatus:
        """Pubends and subscriptions."""
        return status_of(self.pubends, self.edge, now)

    def why(self, name: str, asker: Asker, now: Instant) -> list[Effect] | None:
        """Explain a pubend, or the subscriptions of a name."""
        document = self._questions.explained(name, now, self._lateness.worst(now))
        return None if document is None else [asker.told(document)]

    def known_names(self) -> dict[str, list[str]]:
        """The pubends; there may be very many subscriptions, and they belong to others."""
        return {"pubends": sorted(self.pubends)}

    def problems(self, now: Instant) -> list[str]:
        """What the pubends and the staging report."""
        found = [each for pubend in self.pubends.values() for each in pubend.problems(now)]
        return found + self._staging.problems()

    def owns(self, session: LinkName, message: Message) -> bool:
        """A session that is connected to a durable subscription may delete it."""
        return isinstance(message, Unsubscribe) and self.edge.has(session, message.subscription)
