"""The queue service at one broker: one machine for its queues and alias queues.

The package docstring lists who owns what, and the path of a message.  This module owns the two
tables from the type of a message to the method that handles it: one for messages of clients, one
for messages between queues (of this broker or of several).  It passes on messages for other
brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from penstock.core.clock import NEVER, Instant, earliest
from penstock.core.machine import Effect, LinkName, LogRead, PersistFailed, Priority, Send
from penstock.core.message import Message
from penstock.core.service import Service
from penstock.core.tokens import Tokens
from penstock.core.trace import TraceRecord
from penstock.core.trees import Tree
from penstock.core.why import Asker
from penstock.services.queues.administration import Administration, with_saved_destinations
from penstock.services.queues.alias.alias_queue import AliasQueue
from penstock.services.queues.context import QueueContext
from penstock.services.queues.durable_queue import Handler
from penstock.services.queues.hosted import HostedQueues
from penstock.services.queues.local_delivery import LocalDelivery
from penstock.services.queues.messages import (
    Browse,
    ChangeDestination,
    Credit,
    DeadLetter,
    Decision,
    Forward,
    ForwardRefused,
    Given,
    HandedOver,
    HandOver,
    LetterBuried,
    ListQueues,
    LoadAnswer,
    LoadQuestion,
    Monitor,
    MonitorReport,
    OpenSender,
    PurgeQueue,
    Receive,
    Receiving,
    RelayedReply,
    RelayedSend,
    Remembered,
    Resolved,
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
from penstock.services.queues.queue.consumer_requests import FromConsumer
from penstock.services.queues.queue.queue import Queue
from penstock.services.queues.queue.senders import ClientSender
from penstock.services.queues.relays import RelayedSends
from penstock.services.queues.replies import refusal_of
from penstock.services.queues.routing import Routes, SendToBroker, priority_of
from penstock.services.queues.status import status_of
from penstock.services.queues.telemetry import service_records

ClientHandler: TypeAlias = Callable[[LinkName, Any, Instant, list[Effect]], None]

BETWEEN_BROKERS: Final = frozenset(
    {
        Forward,
        Decision,
        Monitor,
        LoadQuestion,
        Stored,
        Resolved,
        ForwardRefused,
        MonitorReport,
        LoadAnswer,
        RelayedSend,
        RelayedReply,
    }
)
"""Messages that name the broker that they are for; all others on a link are from clients."""


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
        """``saved`` and ``logs`` are what the store held when the broker started."""
        check_configuration(queues, aliases)
        context = QueueContext(broker, parameters, tokens, saved, logs, now)
        self._broker = broker
        self._tokens = tokens
        self._routes = Routes(broker)
        self._hosted = HostedQueues(
            broker,
            [Queue(each, context) for each in with_dead_letters(queues)],
            [AliasQueue(with_saved_destinations(each, saved), context) for each in aliases],
        )
        self.queues, self.aliases = self._hosted.queues, self._hosted.aliases
        self._relays = RelayedSends(broker, parameters)
        self._producers = Producers(self._hosted, self._relays, self._routes)
        self._administration = Administration(self._hosted, self._routes, tokens)
        self._local_delivery = LocalDelivery(self._routes, self)
        self._consumers: dict[tuple[LinkName, str], Queue] = {}
        self._aliases_started = False
        self._now = now
        self._from_clients: dict[type, ClientHandler] = {
            SendToQueue: self._from_producer,
            OpenSender: self._from_producer,
            Receive: self._receive,
            Settle: self._from_consumer,
            Given: self._from_consumer,
            Credit: self._from_consumer,
            StopReceiving: self._from_consumer,
            Browse: self._administration.handle,
            PurgeQueue: self._administration.handle,
            ListQueues: self._administration.handle,
            ChangeDestination: self._administration.handle,
        }
        self._between_queues: dict[type, Handler] = {
            RelayedSend: self._relayed_send,
            RelayedReply: self._relayed_reply,
            Forward: self._to_queue,
            Decision: self._to_queue,
            Monitor: self._to_queue,
            LoadQuestion: self._to_queue,
            HandOver: self._to_queue,
            Remembered: self._to_queue,
            LetterBuried: self._to_queue,
            DeadLetter: self._dead_letter,
            Stored: self._to_alias,
            Resolved: self._to_alias,
            MonitorReport: self._to_alias,
            LoadAnswer: self._to_alias,
            ForwardRefused: self._to_alias,
            HandedOver: self._to_alias,
        }

    # -- start ------------------------------------------------------------------------------

    def start(self) -> list[Effect]:
        """Read the journals: those of the queues first, which say what alias queues handed over."""
        out: list[Effect] = []
        for queue in self.queues.values():
            queue.start(self._now, out)
            self._hosted.changed(queue)
        self._start_aliases(self._now, out)
        return self._finish(out, self._now)

    def _start_aliases(self, now: Instant, out: list[Effect]) -> None:
        """Start the alias queues once the journals of all queues have been read."""
        queues = self.queues.values()
        if self._aliases_started or not all(queue.is_ready for queue in queues):
            return
        self._aliases_started = True
        for queue in queues:
            for name, origins in queue.take_recovered_handovers().items():
                if name in self.aliases:
                    self.aliases[name].recover_handovers(queue.name, origins)
                else:
                    queue.handle(Remembered(name, queue.name, NEVER), now, out)
        for alias in self.aliases.values():
            alias.start(now, out)
            self._hosted.changed(alias)

    # -- the overlay ------------------------------------------------------------------------

    def routes_changed(
        self, trees: Mapping[str, Tree], next_hops: Mapping[str, LinkName], now: Instant
    ) -> list[Effect]:
        """Some brokers can be reached now, or no longer."""
        out: list[Effect] = []
        gained, changed = self._routes.replace(next_hops)
        self._relays.routes_changed(changed, now, out)
        for alias in self.aliases.values():
            alias.routes_changed(self._routes, now, out)
            self._hosted.changed(alias)
        if gained:
            for queue in self.queues.values():
                queue.routes_gained(now, out)
                self._hosted.changed(queue)
        return self._finish(out, now)

    # -- messages ---------------------------------------------------------------------------

    def received(self, link: LinkName, message: Message, now: Instant) -> list[Effect]:
        """Take a message of a neighbour or a client."""
        out: list[Effect] = []
        kind = type(message)
        if kind in BETWEEN_BROKERS:
            self._from_broker(message, now, out)
        elif kind in self._from_clients:
            self._from_clients[kind](link, message, now, out)
        return self._finish(out, now)

    def _from_broker(self, message: Any, now: Instant, out: list[Effect]) -> None:
        if message.destination == self._broker:
            self.deliver(message, now, out)
        else:
            out.append(SendToBroker(message, priority_of(message)))

    def deliver(self, message: Any, now: Instant, out: list[Effect]) -> None:
        """Handle a message for a queue or an alias queue of this broker."""
        self._between_queues[type(message)](message, now, out)

    def _finish(self, out: list[Effect], now: Instant) -> list[Effect]:
        return self._local_delivery.carry_out(out, now)

    # -- messages between queues ------------------------------------------------------------

    def _to_queue(self, message: Any, now: Instant, out: list[Effect]) -> None:
        queue = self.queues.get(message.queue)
        if queue is not None:
            queue.handle(message, now, out)
            self._hosted.changed(queue)
        elif not isinstance(message, Remembered | LetterBuried):
            reason = self._hosted.no_such_queue(message.queue)
            answer = refusal_of(message, self._broker, reason, now)
            if answer is not None:
                out.append(answer)

    def _dead_letter(self, message: DeadLetter, now: Instant, out: list[Effect]) -> None:
        target = self.queues[message.target]
        target.handle(message, now, out)
        self._hosted.changed(target)

    def _to_alias(self, message: Any, now: Instant, out: list[Effect]) -> None:
        alias = self.aliases.get(message.alias)
        if alias is not None:
            alias.handle(message, now, out)
            self._hosted.changed(alias)

    # -- producers --------------------------------------------------------------------------

    def _from_producer(
        self, session: LinkName, message: SendToQueue | OpenSender, now: Instant, out: list[Effect]
    ) -> None:
        sender = ClientSender(session, message.producer, message.queue)
        self._producers.handle(sender, message, now, out)

    def _relayed_send(self, message: RelayedSend, now: Instant, out: list[Effect]) -> None:
        send = message.send
        sender = ClientSender(message.session, send.producer, send.queue, message.source)
        self._producers.handle(sender, send, now, out)

    def _relayed_reply(self, message: RelayedReply, now: Instant, out: list[Effect]) -> None:
        self._relays.replied(message, out)

    # -- consumers --------------------------------------------------------------------------

    def _receive(
        self, session: LinkName, message: Receive, now: Instant, out: list[Effect]
    ) -> None:
        name = message.queue.removesuffix(f"@{self._broker}")
        key = (session, message.consumer)
        queue = self.queues.get(name)
        problem = self._objection(name, key)
        if problem or queue is None:
            out.append(Send(session, Receiving(message.consumer, problem), Priority.CONTROL))
            return
        if queue.receive(session, message, now, out):
            self._consumers[key] = queue
        self._hosted.changed(queue)

    def _objection(self, name: str, key: tuple[LinkName, str]) -> str:
        """Why a consumer cannot receive from a queue; empty if the queue decides."""
        if name in self.aliases:
            where = ", ".join(self.aliases[name].addresses)
            return f"{name!r} is an alias queue: it is write-only; receive from {where}"
        if name not in self.queues:
            return self._hosted.no_such_queue(name)
        other = self._consumers.get(key)
        if other is not None:
            return (
                f"this connection has a consumer {key[1]!r} already, of queue "
                f"{other.name!r}; give each its own name"
            )
        return ""

    def _from_consumer(
        self, session: LinkName, message: FromConsumer, now: Instant, out: list[Effect]
    ) -> None:
        key = (session, message.consumer)
        queue = self._consumers.get(key)
        if queue is None:
            return
        if isinstance(message, StopReceiving):
            del self._consumers[key]
        queue.from_consumer(session, message, now, out)
        self._hosted.changed(queue)

    def session_closed(self, session: LinkName, now: Instant) -> list[Effect]:
        """A client is gone, and its consumers with it."""
        out: list[Effect] = []
        self._relays.session_closed(session)
        gone = [key for key in self._consumers if key[0] == session]
        for name in {self._consumers.pop(key).name: None for key in gone}:
            queue = self.queues[name]
            queue.session_closed(session, now, out)
            self._hosted.changed(queue)
        return self._finish(out, now)

    # -- the store --------------------------------------------------------------------------

    def resolved(self, token: int, failure: PersistFailed | None, now: Instant) -> list[Effect]:
        """An order to the store is durable, or failed."""
        out: list[Effect] = []
        owner = self._hosted.owner_of(self._tokens.settle(token))
        self._administration.resolved(token, failure, out)
        if owner is not None:
            owner.resolved(token, failure, now, out)
            self._hosted.changed(owner)
        return self._finish(out, now)

    def log_read(self, fact: LogRead, now: Instant) -> list[Effect]:
        """The store answered a read."""
        out: list[Effect] = []
        owner = self._hosted.owner_of(self._tokens.settle(fact.token))
        if owner is not None:
            owner.log_read(fact, now, out)
            self._hosted.changed(owner)
            self._start_aliases(now, out)
        return self._finish(out, now)

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant) -> list[Effect]:
        """Do what is due."""
        out: list[Effect] = []
        for queue in self._hosted.due(now):
            queue.deadline(now, out)
            self._hosted.changed(queue)
        self._relays.deadline(now, out)
        return self._finish(out, now)

    def next_deadline(self) -> Instant | None:
        """The earliest deadline of the queues and the relays."""
        return earliest(self._hosted.next_deadline(), self._relays.next_deadline())

    # -- looking in -------------------------------------------------------------------------

    def records(self, now: Instant) -> Iterable[TraceRecord]:
        """What the service measures of itself."""
        return service_records(self._broker, self.queues, self.aliases, now)

    def check_invariants(self) -> None:
        """Every queue is in a possible state."""
        self._hosted.check_invariants()

    # -- people -----------------------------------------------------------------------------

    def status(self, now: Instant) -> list[dict[str, Any]]:
        """Every queue and alias queue."""
        return [status_of(each, now) for each in self._hosted.all()]

    def why(self, name: str, asker: Asker, now: Instant) -> list[Effect] | None:
        """Explain a queue, an alias queue, or the alias queues of a producer."""
        hosted = [*self.aliases.values(), *self.queues.values()]
        for document in (status_of(each, now) for each in hosted):
            if name == document["name"] or name in document.get("producers", ()):
                return [asker.told(msgspec.json.encode(document))]
        return None

    def known_names(self) -> dict[str, list[str]]:
        """Queues and alias queues."""
        return {"queues": sorted(self.queues), "alias queues": sorted(self.aliases)}
