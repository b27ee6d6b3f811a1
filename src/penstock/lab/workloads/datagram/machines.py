"""Publishers and subscribers of the datagram service in a simulated run.

A ``SimDatagramPublisher`` decides when to publish and what; the client library's own
``DatagramPeer`` does all the communication with its broker.  If the peer refuses a message because
its flow's queue is full, or is not connected, the application continues without the message.
"""

from __future__ import annotations

from penstock.core.clock import Duration, Instant, earliest
from penstock.core.datagrams import SendBestEffort
from penstock.core.machine import DeadlineReached, Effect, Fact, LinkDown, Trace
from penstock.lab.oracle.datagram.participants import PublisherHistory, SubscriberHistory
from penstock.lab.workloads.datagram.messages import DatagramSource
from penstock.lab.workloads.datagram.telemetry import PublisherState, publisher_records
from penstock.lab.workloads.message_source import IDENTITY
from penstock.lab.workloads.pace import PacedSlots
from penstock.services.datagram.messages import Publication
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.peer import (
    DatagramPeer,
    DeliverPublication,
    PeerSubscribed,
    PublicationSettled,
)
from penstock.services.datagram.publisher.control import QueueFull


class SimDatagramPublisher:
    """A machine that publishes at its pace."""

    def __init__(
        self,
        history: PublisherHistory,
        source: DatagramSource,
        parameters: DatagramParameters,
        slots: PacedSlots,
        *,
        stop_at: Instant,
        traces_at: Instant,
        trace_interval: Duration,
    ) -> None:
        """Telemetry is written first at ``traces_at``, and then after each interval."""
        self.peer = DatagramPeer(history.name, parameters, publishes=True)
        self.history = history
        self._source = source
        self._slots = slots
        self._stop_at = stop_at
        self._traces_at = traces_at
        self._trace_interval = trace_interval
        self._peer_due: Instant | None = None
        """As of the last step: nothing changes between two steps."""

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Process one fact, and publish what is due."""
        out: list[Effect] = []
        due = self._peer_due
        if type(fact) is not DeadlineReached or (due is not None and due <= now):
            out = self.peer.handle(fact, now=now)
        while self._slots.next_at <= now < self._stop_at:
            out += self._publish(now)
            self._slots.advance()
        for effect in out:
            if type(effect) is SendBestEffort and type(effect.message) is Publication:
                _, number = IDENTITY.unpack_from(effect.message.payload)
                self.history.sent(number, now)
            elif type(effect) is PublicationSettled and not effect.sent:
                self.history.given_up(effect.token)
        if self._traces_at <= now:
            out += self._traces(now)
        return out

    def _publish(self, now: Instant) -> list[Effect]:
        if self.peer.publishing is None:
            return []
        number = self.history.submitted(now)
        attributes = self._source.attributes(number)
        payload = self._source.padded(number, attributes)
        try:
            return self.peer.publish(number, attributes, payload, now=now)
        except QueueFull:
            self.history.refused(number)
        return []

    def _traces(self, now: Instant) -> list[Effect]:
        while self._traces_at <= now:
            self._traces_at += self._trace_interval
        control = self.peer.publishing
        if control is None:
            return []
        state = PublisherState(
            len(control.table), control.feedback_messages, control.waiting_messages
        )
        return [Trace(each) for each in publisher_records(self.history.name, state, now)]

    def next_deadline(self) -> Instant | None:
        """The next message, the peer's deadline or the next record, whichever is the earliest."""
        due = self._peer_due = self.peer.next_deadline()
        slot = self._slots.next_at
        return earliest(due, self._traces_at, slot if slot < self._stop_at else None)

    def check_invariants(self) -> None:
        self.peer.check_invariants()


class SimDatagramSubscriber:
    """A machine that records its deliveries."""

    def __init__(self, history: SubscriberHistory, parameters: DatagramParameters) -> None:
        self.peer = DatagramPeer(history.name, parameters, publishes=False)
        self.history = history
        self.peer.subscribe(1, history.selector)

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        if type(fact) is LinkDown:
            self.history.away(now)
        effects = self.peer.handle(fact, now=now)
        for effect in effects:
            if type(effect) is DeliverPublication:
                message = effect.publication
                self.history.received(message.attributes, message.payload, message.sent_at, now)
            elif type(effect) is PeerSubscribed and not effect.problem:
                self.history.in_force(now)
        return effects

    def next_deadline(self) -> Instant | None:
        return self.peer.next_deadline()

    def check_invariants(self) -> None:
        self.peer.check_invariants()
