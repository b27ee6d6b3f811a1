"""What consumers ask of one queue: to receive, more credit, settlement, to stop.

A handler returns whether anything changed that may allow further deliveries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.parser import parse
from penstock.core.clock import Instant
from penstock.core.intervals import Interval
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.mechanisms.rate_meter import WindowRateMeter
from penstock.services.queues.admission import LONGEST_NAME
from penstock.services.queues.log.settlements import Settlements
from penstock.services.queues.messages import (
    Credit,
    Given,
    Receive,
    Receiving,
    ReceivingStopped,
    Settle,
    Settled,
    StopReceiving,
)
from penstock.services.queues.parameters import QueueParameters
from penstock.services.queues.queue.consumers import Consumers, QueueConsumer
from penstock.services.queues.queue.rows import QueueRows

FromConsumer: TypeAlias = Settle | Given | Credit | StopReceiving


class ConsumerRequests:
    """Handles the messages of the consumers of one queue."""

    def __init__(
        self,
        queue: str,
        consumers: Consumers,
        rows: QueueRows,
        settlements: Settlements,
        consumed: WindowRateMeter,
        parameters: QueueParameters,
    ) -> None:
        """``consumed`` counts the messages that consumers acknowledge."""
        self._queue = queue
        self._consumers = consumers
        self._rows = rows
        self._settlements = settlements
        self._consumed = consumed
        self._parameters = parameters
        self._handlers: dict[type, Callable[[QueueConsumer, Any, Instant], bool]] = {
            Settle: self._settle,
            Given: self._given,
            Credit: self._credit,
            StopReceiving: self._stop,
        }

    # -- coming -----------------------------------------------------------------------------

    def receive(self, session: LinkName, message: Receive, out: list[Effect]) -> bool:
        """Add a consumer, or refuse it and return False."""
        consumers = self._consumers
        problem, selector = "", None
        try:
            parsed = parse(message.selector)
            selector = None if parsed.matches_everything else parsed
        except SelectorError as error:
            problem = str(error)
        problem = self._objection(session, message) or problem
        out.append(Send(session, Receiving(message.consumer, problem), Priority.CONTROL))
        if problem:
            return False
        consumer = QueueConsumer(session, message.consumer, selector)
        consumers.add(consumer)
        consumers.grant(consumer, message.credit, self._parameters.credit_limit)
        return True

    def _objection(self, session: LinkName, message: Receive) -> str:
        consumers, parameters = self._consumers, self._parameters
        if consumers.get(session, message.consumer) is not None:
            return f"consumer {message.consumer!r} exists on this connection already"
        if len(message.consumer) > LONGEST_NAME:
            return f"a consumer's name is longer than {LONGEST_NAME} characters"
        if len(consumers) >= parameters.consumers_per_queue:
            return f"queue {self._queue!r} has {len(consumers)} consumers, the most allowed"
        if consumers.count_of_session(session) >= parameters.consumers_per_session:
            return (
                f"this connection has {parameters.consumers_per_session} consumers of queue "
                f"{self._queue!r}, the most allowed (consumers_per_session)"
            )
        return ""

    # -- staying ----------------------------------------------------------------------------

    def handle(
        self, session: LinkName, message: FromConsumer, now: Instant, out: list[Effect]
    ) -> bool:
        """Take a message of a consumer; a consumer that is gone changes nothing."""
        stops = isinstance(message, StopReceiving)
        consumer = self._consumers.get(session, message.consumer)
        changed = consumer is not None and self._handlers[type(message)](consumer, message, now)
        if stops:
            stopped = ReceivingStopped(message.consumer)
            out.append(Send(session, stopped, Priority.CONTROL))
        return changed or stops

    def _credit(self, consumer: QueueConsumer, message: Credit, now: Instant) -> bool:
        if message.more <= 0:
            return False
        self._consumers.grant(consumer, message.more, self._parameters.credit_limit)
        return True

    def _given(self, consumer: QueueConsumer, message: Given, now: Instant) -> bool:
        for low, high in message.intervals:
            consumer.give(low, high)
        return False

    def _settle(self, consumer: QueueConsumer, message: Settle, now: Instant) -> bool:
        asked = found = 0
        for intervals, outcome in (
            (message.accepted, self._accept),
            (message.failed, self._fail),
            (message.released, self._release),
            (message.rejected, self._reject),
        ):
            for low, high in intervals:
                parts = consumer.release(low, high)
                asked += high - low
                found += sum(part_high - part_low for part_low, part_high in parts)
                outcome(parts, now)
        if found:
            self._consumers.worked(consumer, found, now)
        reply = Settled(message.consumer, message.number, asked - found)
        self._settlements.reply(Send(consumer.session, reply, Priority.CONTROL))
        return True

    def _accept(self, parts: list[Interval], now: Instant) -> None:
        self._rows.settle(parts)
        self._consumed.add(sum(high - low for low, high in parts), now)

    def _fail(self, parts: list[Interval], now: Instant) -> None:
        self._rows.redeliver(parts, now, counted=True)

    def _release(self, parts: list[Interval], now: Instant) -> None:
        self._rows.redeliver(parts, now, counted=False)

    def _reject(self, parts: list[Interval], now: Instant) -> None:
        self._rows.reject(parts, "rejected by a consumer")

    # -- leaving ----------------------------------------------------------------------------

    def _stop(self, consumer: QueueConsumer, message: StopReceiving, now: Instant) -> bool:
        """A consumer leaves on purpose: its in-flight rows count as not delivered."""
        self._consumers.remove(consumer)
        self._rows.redeliver(list(consumer.in_flight), now, counted=False)
        return True

    def session_closed(self, session: LinkName, now: Instant) -> bool:
        """A connection broke: remove its consumers; False if it had none.

        A row that an application had received counts as delivered; the others do not.
        """
        leaving = self._consumers.of_session(session)
        for consumer in leaving:
            self._consumers.remove(consumer)
            given = list(consumer.given)
            for low, high in given:
                consumer.release(low, high)
            self._rows.redeliver(given, now, counted=True)
            self._rows.mark_maybe_delivered(consumer.in_flight)
            self._rows.redeliver(list(consumer.in_flight), now, counted=False)
        return bool(leaving)
