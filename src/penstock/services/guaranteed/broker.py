"""The guaranteed service at one broker: pubends, relays and the edge as one machine.

A broker may host publishers, relay, and host subscribers, in any combination.  Its edge is a child
of its own relays like any neighbour is; what they say to each other is handled here without
leaving the broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from penstock.core.clock import Duration, Instant, earliest
from penstock.core.intervals import Tick
from penstock.core.machine import (
    Effect,
    LinkName,
    LogRead,
    PersistFailed,
    Priority,
    Send,
    Trace,
)
from penstock.core.message import Message
from penstock.core.service import Service
from penstock.core.tokens import Tokens
from penstock.core.trace import TraceRecord
from penstock.core.trees import Tree
from penstock.mechanisms.deadlines import Deadlines
from penstock.services.guaranteed.edge.cursors import CURSORS
from penstock.services.guaranteed.edge.durable import EDGE
from penstock.services.guaranteed.edge.edge import Edge
from penstock.services.guaranteed.edge.subscription_why import explain_absent, explain_subscription
from penstock.services.guaranteed.links import (
    LOCAL_EDGE,
    LOCAL_RELAY,
    stays_inside,
)
from penstock.services.guaranteed.messages import (
    Acknowledgement,
    ClaimsSaved,
    CloseProducer,
    Consumed,
    DescribeStreams,
    DownstreamCongestionQuery,
    Knowledge,
    MoveCursor,
    Nack,
    OpenProducer,
    Publish,
    PublishReceipt,
    PublishRefused,
    StreamBounds,
    StreamsDescribed,
    Subscribe,
    SubscriptionConfirmed,
    SubscriptionUpdate,
    Taken,
    Unsubscribe,
    UpstreamCongestionAlert,
    WhyReply,
    WhyRequest,
    Withdrawal,
)
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.relay.source_relay import SourceRelay
from penstock.services.guaranteed.source.holds import Holds
from penstock.services.guaranteed.source.pubend import Pubend
from penstock.services.guaranteed.source.publishers import Publishers
from penstock.services.guaranteed.source.source_holds import HOLDS, SourceHolds
from penstock.services.guaranteed.staging.messages import CommitStages, DropStages, StageRows
from penstock.services.guaranteed.staging.pubend_gate import StagingGate
from penstock.services.guaranteed.staging.staging import STAGING, Staging
from penstock.services.guaranteed.status import GuaranteedStatus, status_of
from penstock.services.guaranteed.telemetry import service_records, throttle_record
from penstock.services.guaranteed.why import explain


class GuaranteedBroker(Service):
    """Pubends, relays and edge of one broker."""

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
        now: Instant,
    ) -> None:
        """``saved`` and ``logs`` are what was found on the disk.

        ``queued_bytes`` is kept up to date by the owner: what waits on each link at present.
        """
        self._broker = broker
        self._queued_bytes = queued_bytes
        self._parameters = parameters
        self._tokens = tokens
        self._pubends = {
            name: self._open_pubend(name, number / len(pubends), saved, logs, now)
            for number, name in enumerate(pubends)
        }
        self._by_log = {pubend.log: pubend for pubend in self._pubends.values()}
        self._publishers = Publishers(broker, parameters, self._pubends)
        self._sources: dict[str, SourceRelay] = {}
        self._source_of: dict[str, SourceRelay] = {}
        self.edge = Edge(broker, parameters, tokens, saved, now)
        self._holds = SourceHolds(tokens, self._pubends)
        self._next_hops: Mapping[str, LinkName] = {}
        self._deadlines: Deadlines[str] = Deadlines()
        self._staging = Staging(
            parameters,
            tokens,
            StagingGate(self._pubends, self._moved),
            saved=saved,
            log_bounds=logs.get(STAGING),
            now=now,
        )

    def _moved(self, pubend: Pubend) -> None:
        self._deadlines.set(pubend.name, pubend.next_deadline())

    def _open_pubend(
        self,
        name: str,
        query_phase: float,
        saved: Mapping[str, bytes],
        logs: Mapping[str, tuple[Tick, Tick, int]],
        now: Instant,
    ) -> Pubend:
        holds = Holds()
        kept = saved.get(SourceHolds.key(name))
        if kept is not None:
            holds.load(kept)
        return Pubend(
            name,
            self._parameters,
            self._tokens,
            log_bounds=logs.get(f"pubend/{name}"),
            saved_producers=saved.get(f"pubend/{name}/producers"),
            holds=holds,
            query_phase=query_phase,
            now=now,
            saved_beginning=saved.get(f"pubend/{name}/beginning"),
        )

    def clock_measured(self, ahead_ns: Duration) -> None:
        """The instants that this machine is told are so far ahead of the time of day."""
        self.edge.clock_ahead_ns = ahead_ns
        for pubend in self._pubends.values():
            pubend.clock_ahead_ns = ahead_ns

    def start(self) -> list[Effect]:
        """What must be done before anything else."""
        out: list[Effect] = []
        for pubend in self._pubends.values():
            out += pubend.start()
            self._deadlines.set(pubend.name, pubend.next_deadline())
        return out + self._staging.start()

    # -- the overlay ------------------------------------------------------------------------

    def routes_changed(
        self, trees: Mapping[str, Tree], next_hops: Mapping[str, LinkName], now: Instant
    ) -> list[Effect]:
        """The overlay found other ways."""
        out: list[Effect] = []
        self._next_hops = next_hops
        for root, tree in sorted(trees.items()):
            source = self._sources.get(root)
            if source is None:
                hosted = self._pubends if root == self._broker else {}
                source = self._sources[root] = SourceRelay(
                    self._broker, root, self._parameters, hosted
                )
            for pubend in tree.pubends:
                self._source_of[pubend] = source
            if source.tree_changed(tree, out):
                self.edge.path_changed(root, now, out)
        for root, source in self._sources.items():
            if root not in trees:
                source.lost_source()
        self.edge.trees_changed(trees, out)
        return self._settled(out, now)

    def overlay_settled(self, now: Instant) -> list[Effect]:
        """The broker knows the overlay as well as it is going to."""
        out: list[Effect] = []
        self.edge.overlay_settled(now, out)
        return self._settled(out, now)

    def link_up(self, link: LinkName, now: Instant) -> list[Effect]:
        """A neighbour is there."""
        out: list[Effect] = []
        for source in self._sources.values():
            source.link_restored(link, out)
        return self._settled(out, now)

    def link_down(self, link: LinkName, now: Instant) -> list[Effect]:
        """A neighbour is gone."""
        out: list[Effect] = []
        for source in self._sources.values():
            source.link_lost(link, out)
        return self._settled(out, now)

    # -- messages ---------------------------------------------------------------------------

    def received(self, link: LinkName, message: Message, now: Instant) -> list[Effect]:
        """A message from a neighbour or a client."""
        out: list[Effect] = []
        if isinstance(message, Knowledge):
            source = self._source_of.get(message.pubend)
            if source is not None and (source.parent == link or message.answer_for is not None):
                source.knowledge(message, out)
        elif isinstance(message, Publish):
            pubend = self._publishers.publish(link, message, now, out)
            if pubend is not None:
                self._moved(pubend)
        elif isinstance(message, Taken):
            self.edge.taken(link, message, now, out)
        elif isinstance(message, Consumed):
            self.edge.consumed(link, message, now)
        else:
            self._control(link, message, now, out)
        return self._settled(out, now)

    def _control(self, link: LinkName, message: Message, now: Instant, out: list[Effect]) -> None:
        """Everything that is not about single batches."""
        match message:
            case Nack():
                source = self._source_of.get(message.pubend)
                if source is not None:
                    source.request(link, message, now, out)
            case DownstreamCongestionQuery():
                self._query(link, message, out)
            case UpstreamCongestionAlert():
                self._alert(link, message, now, out)
            case SubscriptionUpdate(root=root) if root in self._sources:
                self._sources[root].update(link, message, out)
            case SubscriptionConfirmed(root=root) if root in self._sources:
                self._confirmed(link, message, now, out)
            case Withdrawal(root=root) if root in self._sources:
                self._sources[root].withdrawal(link, out)
            case Acknowledgement(root=root) if root in self._sources:
                self._acknowledge(message, now, out)
            case ClaimsSaved():
                self._claims_saved(message, now, out)
            case OpenProducer():
                self._publishers.open(link, message, now, out)
            case CloseProducer():
                self._publishers.close(link, message.producer)
            case WhyRequest():
                out.append(Send(link, self._why(message.name, now), Priority.CONTROL))
            case DescribeStreams():
                out.append(Send(link, self._describe_streams(), Priority.CONTROL))
            case MoveCursor():
                self.edge.cursors.move(link, message, out)
            case StageRows() | CommitStages() | DropStages():
                self._staging.received(link, message, now, out)
            case PublishReceipt() | PublishRefused():
                self._staging.answered(message, now, out)
            case Subscribe():
                self.edge.subscribe(link, message, now, out)
            case Unsubscribe():
                self.edge.unsubscribe(link, message, now, out)

    def _query(self, link: LinkName, message: DownstreamCongestionQuery, out: list[Effect]) -> None:
        source = self._source_of.get(message.pubend)
        if link == LOCAL_EDGE:
            self.edge.query(message, out)
        elif source is not None and link == source.parent:
            source.query(message, out)

    def _alert(
        self, link: LinkName, message: UpstreamCongestionAlert, now: Instant, out: list[Effect]
    ) -> None:
        source = self._source_of.get(message.pubend)
        told = (message.nonrecovering, message.recovering)
        if source is None or not all(each is None or each.is_possible for each in told):
            return
        alert = source.alert(link, message, self._queued_bytes.get(link, 0), out)
        pubend = self._pubends.get(message.pubend)
        if alert is not None and pubend is not None:
            if pubend.control.alert(alert, pubend.spoken_end, now):
                self._throttled(pubend, now, out)
            pubend.admit(now, out)
            self._deadlines.set(pubend.name, pubend.next_deadline())

    def _throttled(self, pubend: Pubend, now: Instant, out: list[Effect]) -> None:
        """Tell everybody who publishes to a pubend how fast they may go, and why."""
        notice = pubend.control.notice(now)
        sessions = self._publishers.sessions_of(pubend)
        out += [Send(session, notice, Priority.CONTROL) for session in sessions]
        out.append(Trace(throttle_record(self._broker, notice, now)))

    def _steer(self, pubend: Pubend, now: Instant, out: list[Effect]) -> None:
        """Ask the edges, and let the rate law act on the passing of time."""
        query = pubend.control.query_due(pubend.spoken_end, now)
        if query is None:
            return
        query = msgspec.structs.replace(query, earliest=pubend.log_start)
        if self._broker in self._sources:
            self._sources[self._broker].query(query, out)
        if pubend.control.elapse(pubend.spoken_end, pubend.waiting > 0, now):
            self._throttled(pubend, now, out)

    def _why(self, name: str, now: Instant) -> WhyReply:
        pubend = self._pubends.get(name)
        if pubend is not None:
            return WhyReply(name, explain(pubend, self._broker, now))
        readers = [each for each in self.edge.subscriptions() if each.name == name]
        if readers:
            horizons = self.edge.horizons()
            return WhyReply(name, explain_subscription(readers, self._broker, horizons, now))
        absent = self.edge.durable_subscription(name)
        if absent is not None:
            return WhyReply(name, explain_absent(absent, self._broker, now))
        hosted = ", ".join(sorted(self._pubends)) or "none"
        problem = (
            f"broker {self._broker!r} hosts no pubend {name!r} (it hosts: {hosted}), and no "
            "subscription of that name is connected to it or kept by it"
        )
        return WhyReply(name, b"", problem)

    def _describe_streams(self) -> StreamsDescribed:
        streams = self.edge.streams()
        if not streams:
            return StreamsDescribed({}, f"broker {self._broker!r} knows of no stream yet")
        for name, pubend in self._pubends.items():
            bounds = StreamBounds(
                self._broker, pubend.log_start, pubend.spoken_end, pubend.rows_end
            )
            streams[name] = bounds
        return StreamsDescribed(streams)

    def _confirmed(
        self, link: LinkName, message: SubscriptionConfirmed, now: Instant, out: list[Effect]
    ) -> None:
        source = self._sources[message.root]
        if link == LOCAL_EDGE:
            self.edge.confirmed(message, now, out)
        elif link == source.parent:
            for pubend in message.ticks:
                self._source_of[pubend] = source
            source.confirmed(message, out)

    def _acknowledge(self, message: Acknowledgement, now: Instant, out: list[Effect]) -> None:
        if self._sources[message.root].acknowledge(message, out):
            answer = self._holds.stated(message, now, out)
            if answer is not None:
                self._claims_saved(answer, now, out)
            for name, pubend in self._pubends.items():
                self._deadlines.set(name, pubend.next_deadline())

    def _claims_saved(self, message: ClaimsSaved, now: Instant, out: list[Effect]) -> None:
        """A source's word to an edge, which may be this broker's or one further on."""
        if message.edge == self._broker:
            self.edge.claims_saved(message, now, out)
        elif message.edge in self._next_hops:
            out.append(Send(self._next_hops[message.edge], message, Priority.CONTROL))

    def _settled(self, out: list[Effect], now: Instant) -> list[Effect]:
        """Deliver what stays inside the broker until nothing of it is left."""
        settled: list[Effect] = []
        for effect in out:  # grows while it is walked through
            if type(effect) is not Send or not stays_inside(effect.link):
                settled.append(effect)
            elif effect.link == LOCAL_RELAY:
                self._control(LOCAL_EDGE, effect.message, now, out)
            elif isinstance(effect.message, Knowledge):
                self.edge.knowledge(effect.message, now, out)
            else:
                self._control(LOCAL_EDGE, effect.message, now, out)
        return settled

    def session_closed(self, session: LinkName, now: Instant) -> list[Effect]:
        """A client is gone."""
        out: list[Effect] = []
        self._publishers.session_closed(session)
        self._staging.session_closed(session)
        self.edge.session_closed(session, now, out)
        return self._settled(out, now)

    # -- the store's word -------------------------------------------------------------------

    def resolved(self, token: int, failure: PersistFailed | None, now: Instant) -> list[Effect]:
        """Something is durable, or was refused."""
        out: list[Effect] = []
        owner = self._tokens.settle(token)
        if owner == EDGE:
            self.edge.resolved(token, failure, now, out)
        elif owner == CURSORS:
            self.edge.cursor_resolved(token, failure, now, out)
        elif owner == HOLDS:
            for answer in self._holds.resolved(token, failure):
                self._claims_saved(answer, now, out)
        elif owner == STAGING:
            self._staging.resolved(token, failure, now, out)
        pubend = self._by_log.get(owner or "")
        if pubend is not None:
            source = self._sources.get(self._broker)
            for frame in pubend.resolved(token, failure, now, out):
                if source is not None:
                    source.published(pubend.name, frame, out)
            self._deadlines.set(pubend.name, pubend.next_deadline())
        return self._settled(out, now)

    def log_read(self, fact: LogRead, now: Instant) -> list[Effect]:
        """The store answered a read."""
        out: list[Effect] = []
        owner = self._tokens.settle(fact.token)
        if owner == STAGING:
            self._staging.log_read(fact, now, out)
        pubend = self._by_log.get(owner or "")
        if pubend is not None:
            answer = pubend.log_read(fact, now, out)
            if pubend.ready:
                self._publishers.pubend_ready(now, out)
            if answer is not None:
                self._sources[self._broker].read(pubend.name, answer, out)
            self._deadlines.set(pubend.name, pubend.next_deadline())
        return self._settled(out, now)

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant) -> list[Effect]:
        """Whatever is due."""
        out: list[Effect] = []
        for name in self._deadlines.pop_due(now):
            pubend = self._pubends[name]
            self._steer(pubend, now, out)
            pubend.deadline(now, out)
            self._deadlines.set(name, pubend.next_deadline())
        edge_deadline = self.edge.next_deadline()
        if edge_deadline is not None and edge_deadline <= now:
            self.edge.deadline(now, out)
        self._staging.deadline(now, out)
        return self._settled(out, now)

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        return earliest(
            self._deadlines.earliest(), self.edge.next_deadline(), self._staging.next_deadline()
        )

    def records(self, now: Instant) -> Iterable[TraceRecord]:
        """What the service measures of itself."""
        return service_records(self._broker, self._pubends, self.edge, now)

    # -- looking in -------------------------------------------------------------------------

    @property
    def pubends(self) -> Mapping[str, Pubend]:
        """The pubends hosted here."""
        return self._pubends

    def check_invariants(self) -> None:
        """Every part is in a possible state."""
        for pubend in self._pubends.values():
            pubend.check_invariants()
        self.edge.check_invariants()
        self._staging.check_invariants()

    # -- people -----------------------------------------------------------------------------

    def streams(self) -> tuple[str, ...]:
        """The pubends of this broker."""
        return tuple(self._pubends)

    def status(self, now: Instant) -> GuaranteedStatus:
        """Pubends and subscriptions."""
        return status_of(self._pubends, self.edge, now)

    def problems(self, now: Instant) -> list[str]:
        """What the pubends report."""
        return [each for pubend in self._pubends.values() for each in pubend.problems(now)]

    def owns(self, session: LinkName, message: Message) -> bool:
        """A session that is connected to a durable subscription may delete it."""
        return isinstance(message, Unsubscribe) and self.edge.has(session, message.subscription)
