"""The queue service at one broker: its queues and alias queues as one machine.

Queues and alias queues speak to each other only in messages, also when they are on the same broker:
what one says to another here is handled without leaving the broker, and what is for a broker
further away is passed on by the link that leads there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from penstock.core.clock import NEVER, Instant
from penstock.core.machine import Effect, LinkName, LogRead, PersistFailed, Priority, Send
from penstock.core.message import Message
from penstock.core.service import Service
from penstock.core.tokens import Tokens
from penstock.core.trace import TraceRecord
from penstock.core.trees import Tree
from penstock.mechanisms.deadlines import Deadlines
from penstock.services.queues.administration import Administration, Hosted, with_saved_destinations
from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.alias.local_delivery import Inside
from penstock.services.queues.messages import (
    Browse,
    ChangeDestination,
    Credit,
    Decision,
    Forward,
    ForwardRefused,
    Given,
    ListQueues,
    Monitor,
    MonitorReport,
    OpenSender,
    PurgeQueue,
    Receive,
    Receiving,
    RelayedReply,
    RelayedSend,
    Resolved,
    Routed,
    SendToQueue,
    Settle,
    StopReceiving,
    Stored,
)
from penstock.services.queues.parameters import (
    AliasConfig,
    QueueConfig,
    QueueParameters,
    check_configuration,
    with_dead_letters,
)
from penstock.services.queues.producers import Producers
from penstock.services.queues.queue.queue import Queue
from penstock.services.queues.queue.senders import HANDOVERS, LETTERS, ROUTE, ClientSender
from penstock.services.queues.relays import Relays, changed_ways
from penstock.services.queues.replies import refusal_of
from penstock.services.queues.telemetry import service_records

BETWEEN_BROKERS: Final = (Routed, RelayedSend, RelayedReply)
FOR_QUEUES: Final = (Forward, Decision, Monitor)
FROM_PRODUCERS: Final = (SendToQueue, OpenSender)
FROM_CONSUMERS: Final = (Settle, Given, Credit, StopReceiving)
REQUESTS: Final = (Browse, PurgeQueue, ListQueues, ChangeDestination)
"""Named once: a union that is written where it is used is built anew for every message."""

RELAYS: Final = "@relays"
"""Stands among the names of logs for what is relayed: its deadline is one among theirs."""


class QueueBroker(Service):
    """The queues and alias queues of one broker."""

    def __init__(
        self,
        broker: str,
        queues: tuple[QueueConfig, ...],
        aliases: tuple[AliasConfig, ...],
        parameters: QueueParameters,
        tokens: Tokens,
        *,
        saved: Mapping[str, bytes],
        logs: Mapping[str, tuple[int, int, int]],
        now: Instant,
    ) -> None:
        """``saved`` and ``logs`` are what was found on the disk."""
        check_configuration(queues, aliases)
        self._broker = broker
        self._tokens = tokens
        self._next_hops: Mapping[str, LinkName] = {}
        self._deadlines: Deadlines[str] = Deadlines()
        self._consumers: dict[tuple[LinkName, str], Queue] = {}
        self.queues = {
            each.name: Queue(broker, each, parameters, tokens, saved=saved, logs=logs, now=now)
            for each in with_dead_letters(queues)
        }
        self.aliases = {
            each.name: AliasQueue(
                broker,
                with_saved_destinations(each, saved),
                parameters,
                tokens,
                saved=saved,
                logs=logs,
                now=now,
            )
            for each in aliases
        }
        self._administration = Administration(
            broker, self.queues, self.aliases, tokens, self._touch
        )
        self._producers = Producers(
            broker, self._administration, Relays(broker, parameters), self._touch
        )
        self._inside = Inside(self.queues, self.aliases, self._administration, self._touch)
        self._by_log: dict[str, Hosted] = {}
        self._by_log.update((each.log, each) for each in self.queues.values())
        self._by_log.update((each.log, each) for each in self.aliases.values())
        self._aliases_started = False
        self._now = now

    def start(self) -> list[Effect]:
        """Read the journals: the queues' first, which say what alias queues handed over."""
        out: list[Effect] = []
        for queue in self.queues.values():
            queue.start(self._now, out)
            self._touch(queue)
        self._start_aliases(self._now, out)
        return self._finish(out, self._now)

    def _start_aliases(self, now: Instant, out: list[Effect]) -> None:
        """Once all queues have been read."""
        unread = any(not queue.rows.journal.ready for queue in self.queues.values())
        if self._aliases_started or unread:
            return
        self._aliases_started = True
        for queue in self.queues.values():
            for name, origins in queue.rows.handed.take_found().items():
                if name in self.aliases:
                    self.aliases[name].handed_over(queue.name, origins)
                else:
                    queue.rows.handed.remembered(name, NEVER)
        for alias in self.aliases.values():
            alias.start(now, out)
            self._touch(alias)

    # -- the overlay ------------------------------------------------------------------------

    def routes_changed(
        self, trees: Mapping[str, Tree], next_hops: Mapping[str, LinkName], now: Instant
    ) -> list[Effect]:
        """Some brokers can be reached now, or no longer."""
        out: list[Effect] = []
        gained = [broker for broker in next_hops if broker not in self._next_hops]
        self._producers.relays.ways_found(changed_ways(self._next_hops, next_hops), now, out)
        self._next_hops = dict(next_hops)
        for alias in self.aliases.values():
            alias.routes_changed(self._next_hops, now, out)
            self._touch(alias)
        if gained:
            for queue in self.queues.values():
                queue.forwarded.ask_all(now, out)
                self._touch(queue)
        return self._finish(out, now)

    def overlay_settled(self, now: Instant) -> list[Effect]:
        """Nothing hangs on this: queues work alone, alias queues wait for their destinations."""
        return []

    def link_up(self, link: LinkName, now: Instant) -> list[Effect]:
        """Ways are computed by the overlay."""
        return []

    def link_down(self, link: LinkName, now: Instant) -> list[Effect]:
        """Ways are computed by the overlay."""
        return []

    # -- messages ---------------------------------------------------------------------------

    def received(self, link: LinkName, message: Message, now: Instant) -> list[Effect]:
        """A message from a neighbour or a client."""
        out: list[Effect] = []
        self._take(link, message, now, out)
        return self._finish(out, now)

    def _take(self, link: LinkName, message: Message, now: Instant, out: list[Effect]) -> None:
        if isinstance(message, BETWEEN_BROKERS):
            if message.destination != self._broker:
                out.append(Send(ROUTE, message, _priority_of(message)))
            else:
                self._routed(message, now, out)
        elif isinstance(message, FROM_PRODUCERS):
            sender = ClientSender(link, message.producer, message.queue)
            self._producers.take(sender, message, self._next_hops, now, out)
            self._deadlines.set(RELAYS, self._producers.relays.next_deadline())
        elif isinstance(message, FROM_CONSUMERS):
            self._from_consumer(link, message, now, out)
        elif isinstance(message, Receive):
            self._receive(link, message, now, out)
        elif isinstance(message, REQUESTS):
            self._administration.request(link, message, self._next_hops, now, out)

    def _routed(
        self, message: Routed | RelayedSend | RelayedReply, now: Instant, out: list[Effect]
    ) -> None:
        """From another broker, or from another part of this one."""
        if isinstance(message, RelayedReply):
            self._producers.relays.replied(message, out)
        elif isinstance(message, RelayedSend):
            send = message.send
            sender = ClientSender(message.session, send.producer, send.queue, message.source)
            self._producers.take(sender, send, self._next_hops, now, out)
        elif isinstance(message, FOR_QUEUES):
            self._for_queue(message, now, out)
        else:
            self._for_alias(message, now, out)

    def _for_queue(
        self, message: Forward | Decision | Monitor, now: Instant, out: list[Effect]
    ) -> None:
        queue = self.queues.get(message.queue)
        if queue is None:
            reason = self._administration.no_such_queue(message.queue)
            answer = refusal_of(message, self._broker, reason, now)
            if answer is not None:
                out.append(Send(ROUTE, answer, Priority.CONTROL))
            return
        if isinstance(message, Forward):
            queue.forward(message, now, out)
        elif isinstance(message, Decision):
            queue.decision(message, now, out)
        else:
            queue.monitor(message, now, out)
        self._touch(queue)

    def _for_alias(self, message: Routed, now: Instant, out: list[Effect]) -> None:
        alias = self.aliases.get(message.alias)
        if alias is None:
            return
        match message:
            case Stored():
                alias.forwarding.stored(message, now, out)
            case Resolved():
                alias.forwarding.resolved_by(message, now)
            case MonitorReport():
                alias.forwarding.report(message, now, out)
            case ForwardRefused():
                alias.forwarding.refused(message, now, out)
        self._touch(alias)

    # -- consumers --------------------------------------------------------------------------

    def _receive(
        self, session: LinkName, message: Receive, now: Instant, out: list[Effect]
    ) -> None:
        name = message.queue.removesuffix(f"@{self._broker}")
        queue = self.queues.get(name)
        if queue is None:
            if name in self.aliases:
                where = ", ".join(self.aliases[name].destinations())
                problem = f"{name!r} is an alias queue: it is write-only; receive from {where}"
            else:
                problem = self._administration.no_such_queue(name)
            out.append(Send(session, Receiving(message.consumer, problem), Priority.CONTROL))
            return
        other = self._consumers.get((session, message.consumer))
        if other is not None:
            problem = (
                f"this connection has a consumer {message.consumer!r} already, of queue "
                f"{other.name!r}; give each its own name"
            )
            out.append(Send(session, Receiving(message.consumer, problem), Priority.CONTROL))
            return
        if queue.receive(session, message, now, out):
            self._consumers[session, message.consumer] = queue
        self._touch(queue)

    def _from_consumer(
        self,
        session: LinkName,
        message: Settle | Given | Credit | StopReceiving,
        now: Instant,
        out: list[Effect],
    ) -> None:
        queue = self._consumers.get((session, message.consumer))
        if queue is None:
            return
        if isinstance(message, Settle):
            queue.settle(session, message, now, out)
        elif isinstance(message, Given):
            queue.given(session, message)
        elif isinstance(message, Credit):
            queue.credit(session, message.consumer, message.more, now, out)
        else:
            del self._consumers[session, message.consumer]
            queue.stop(session, message.consumer, now, out)
        self._touch(queue)

    def session_closed(self, session: LinkName, now: Instant) -> list[Effect]:
        """A client is gone."""
        out: list[Effect] = []
        self._producers.relays.session_closed(session)
        gone = [key for key in self._consumers if key[0] == session]
        for queue in {self._consumers.pop(key).name: None for key in gone}:
            self.queues[queue].session_closed(session, now, out)
            self._touch(self.queues[queue])
        return self._finish(out, now)

    # -- the store's word -------------------------------------------------------------------

    def resolved(self, token: int, failure: PersistFailed | None, now: Instant) -> list[Effect]:
        """Something is durable, or was refused."""
        out: list[Effect] = []
        owner = self._tokens.settle(token)
        self._administration.resolved(token, failure, out)
        hosted = self._by_log.get(owner or "")
        if hosted is not None:
            hosted.resolved(token, failure, now, out)
            self._touch(hosted)
        return self._finish(out, now)

    def log_read(self, fact: LogRead, now: Instant) -> list[Effect]:
        """The store answered a read."""
        out: list[Effect] = []
        hosted = self._by_log.get(self._tokens.settle(fact.token) or "")
        if hosted is not None:
            hosted.log_read(fact, now, out)
            self._touch(hosted)
            self._start_aliases(now, out)
        return self._finish(out, now)

    # -- what stays inside ------------------------------------------------------------------

    def _finish(self, out: list[Effect], now: Instant) -> list[Effect]:
        """Deliver what stays inside the broker, and find the way of what leaves it."""
        if not any(type(effect) is Send and effect.link[0] == "@" for effect in out):
            return out
        finished: list[Effect] = []
        at = 0
        while at < len(out):
            effect = out[at]
            at += 1
            if type(effect) is not Send or effect.link[0] != "@":
                finished.append(effect)
            elif effect.link == LETTERS:
                self._inside.letter(effect.message, now, out)
            elif effect.link == HANDOVERS:
                self._inside.handover(effect.message, now, out)
            elif effect.message.destination == self._broker:
                self._routed(effect.message, now, out)
            else:
                hop = self._next_hops.get(effect.message.destination)
                if hop is not None:
                    finished.append(Send(hop, effect.message, effect.priority, effect.flow))
        return finished

    # -- time -------------------------------------------------------------------------------

    def _touch(self, hosted: Hosted) -> None:
        self._deadlines.set(hosted.log, hosted.next_deadline())

    def deadline(self, now: Instant) -> list[Effect]:
        """Whatever is due."""
        out: list[Effect] = []
        for log in self._deadlines.pop_due(now):
            if log == RELAYS:
                self._producers.relays.deadline(now, out)
                self._deadlines.set(RELAYS, self._producers.relays.next_deadline())
            else:
                self._by_log[log].deadline(now, out)
                self._touch(self._by_log[log])
        return self._finish(out, now)

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        return self._deadlines.earliest()

    def records(self, now: Instant) -> Iterable[TraceRecord]:
        """What the service measures of itself."""
        return service_records(self._broker, self.queues, self.aliases, now)

    def check_invariants(self) -> None:
        """Every part is in a possible state."""
        for hosted in self._by_log.values():
            hosted.check_invariants()


def _priority_of(message: Message) -> Priority:
    return Priority.DATA if isinstance(message, Forward | RelayedSend) else Priority.CONTROL
