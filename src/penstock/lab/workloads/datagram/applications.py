"""Publishers and subscribers of the datagram service in the network world.

They are applications of the client library.  A publisher wakes up every ``TICK_S`` and publishes
what is due.  The library takes a message without saying when it leaves, and says how many messages
wait in each flow; since messages of a flow leave in order, those that wait are the last ones that
were taken.  Where flows overlap, a message may be thought to wait in another flow than its own; the
number of those that wait is right all the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from penstock.client.client import Client
from penstock.client.datagram.datagram import Datagrams
from penstock.client.errors import Disconnected
from penstock.content.selectors.parser import parse
from penstock.content.selectors.rowwise import selects
from penstock.core.clock import MILLISECOND, Duration, Instant, seconds
from penstock.lab.oracle.datagram.participants import PublisherHistory, SubscriberHistory
from penstock.lab.service import NetStage
from penstock.lab.workloads.datagram.messages import DatagramSource
from penstock.lab.workloads.datagram.telemetry import PublisherState, publisher_records
from penstock.lab.workloads.pace import PacedSlots
from penstock.lab.workloads.visitor import Visitor
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.why import FlowExplanation

TICK_S: Final = 0.002
"""How often a publisher publishes what is due."""

SETTLE_EVERY: Final[Duration] = 20 * MILLISECOND
"""How often it looks which messages have left."""

LATE: Final[Duration] = 100 * MILLISECOND
"""A message that is due for longer is left out: a publisher that was held up does not catch up."""

UNREAD_MESSAGES: Final = 1_000_000
"""More than arrives while this process is busy: nothing may be lost on the last step."""


class NetDatagramClient(Visitor):
    """A client of the datagram service."""

    async def _attend(self, client: Client) -> bool:
        """Work until the client leaves; whether it has finished."""
        loop = asyncio.get_running_loop()
        working = loop.create_task(self._work(client))
        leaving = loop.create_task(self._leaving.wait())
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
                return True
            return False
        finally:
            working.cancel()
            leaving.cancel()
            await asyncio.gather(working, leaving, return_exceptions=True)

    async def _work(self, client: Client) -> None:
        raise NotImplementedError


class NetDatagramPublisher(NetDatagramClient):
    """A publisher with a pace, the same as in the simulated world."""

    def __init__(
        self,
        history: PublisherHistory,
        source: DatagramSource,
        parameters: DatagramParameters,
        slots: PacedSlots,
        stage: NetStage,
    ) -> None:
        super().__init__(history.name, stage.url)
        self.history = history
        self._source = source
        self._parameters = parameters
        self._slots = slots
        self._stage = stage
        self._trace_interval = seconds(stage.scenario.trace_interval_s)
        self._traces_at: Instant = stage.began_at
        self._settles_at: Instant = 0
        self._unsettled: list[int] = []
        """The messages that were taken and may not have left yet."""

    async def _work(self, client: Client) -> None:
        try:
            async with client.datagram(self.name, parameters=self._parameters) as datagrams:
                while time.time_ns() < self._stage.stop_at or self._unsettled:
                    self._step(datagrams, time.time_ns())
                    await asyncio.sleep(TICK_S)
        finally:
            self._give_up()

    def _step(self, datagrams: Datagrams, now: Instant) -> None:
        """Do everything that is due."""
        slots = self._slots
        while slots.next_at < now - LATE:
            slots.advance()
        try:
            while slots.next_at <= now < self._stage.stop_at:
                self._publish(datagrams, now)
                slots.advance()
            if self._settles_at <= now or self._traces_at <= now:
                self._look(datagrams, now)
        except Disconnected:
            self._give_up()

    def _publish(self, datagrams: Datagrams, now: Instant) -> None:
        number = self.history.submitted(now)
        attributes = self._source.attributes(number)
        self._unsettled.append(number)
        if not datagrams.try_publish(attributes, self._source.padded(number, attributes)):
            self._unsettled.pop()
            self.history.refused(number)

    def _look(self, datagrams: Datagrams, now: Instant) -> None:
        """See what has left, and write telemetry."""
        state = datagrams.why()
        self._settle(state.flows, now)
        self._settles_at = now + SETTLE_EVERY
        if self._traces_at > now:
            return
        while self._traces_at <= now:
            self._traces_at += self._trace_interval
        waiting = sum(each.waiting_messages for each in state.flows)
        shown = PublisherState(len(state.flows), state.feedback_messages, waiting)
        for record in publisher_records(self.name, shown, now):
            self._stage.record(record)

    def _settle(self, flows: Sequence[FlowExplanation], now: Instant) -> None:
        waiting = {each.selector: each.waiting_messages for each in flows if each.waiting_messages}
        kept: list[int] = []
        for number in reversed(self._unsettled):
            flow = self._flow_of(number, waiting) if waiting else None
            if flow is None:
                self.history.sent(number, now)
                continue
            kept.append(number)
            waiting[flow] -= 1
            if not waiting[flow]:
                del waiting[flow]
        self._unsettled = kept[::-1]

    def _flow_of(self, number: int, waiting: dict[str, int]) -> str | None:
        """The flow that a message waits in, if it waits."""
        attributes = self._source.attributes(number)
        return next((each for each in waiting if selects(parse(each), attributes)), None)

    def _give_up(self) -> None:
        for number in self._unsettled:
            self.history.given_up(number)
        self._unsettled = []


class NetDatagramSubscriber(NetDatagramClient):
    """A subscriber that records its deliveries."""

    def __init__(
        self, history: SubscriberHistory, parameters: DatagramParameters, url: str
    ) -> None:
        super().__init__(history.name, url)
        self.history = history
        self._parameters = parameters

    async def _work(self, client: Client) -> None:
        history = self.history
        try:
            async with (
                client.datagram(
                    self.name, publishes=False, parameters=self._parameters
                ) as datagrams,
                datagrams.subscribe(
                    history.selector, unread_messages=UNREAD_MESSAGES
                ) as subscription,
            ):
                history.in_force(time.time_ns())
                while True:
                    batch = await subscription.next_batch()
                    now = time.time_ns()
                    for message in batch:
                        history.received(message.attributes, message.payload, message.sent_at, now)
        finally:
            history.away(time.time_ns())
