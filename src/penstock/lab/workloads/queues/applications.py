"""Producers and consumers of a run in the network world: applications of the client library."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Final

import msgspec

from penstock.client.client import Client, connect
from penstock.client.errors import PenstockError, PublishRefusedError
from penstock.client.queues.message import QueueBatch
from penstock.client.queues.receiver import Receiver
from penstock.client.queues.sender import QueueSender
from penstock.content.rows.batch import Batch
from penstock.core.clock import in_seconds
from penstock.core.randomness import random_stream
from penstock.lab.oracle.queues.records import ConsumerHistory, Outcome, ProducerHistory
from penstock.lab.scenario.curve import step_at
from penstock.lab.service import NetStage
from penstock.lab.workloads.queues.schedule import Schedule
from penstock.lab.workloads.queues.tables import QueueConsumer, QueueProducer
from penstock.lab.workloads.visitor import OPTIONS, Visitor, close

WORK_ROWS: Final = 10
"""Messages that a consumer with a rate works on before it acknowledges them.  If it acknowledged
only after everything that it prefetched, it would be idle for a round trip to the broker each
time."""

CATCH_UP_S: Final = 0.1
"""The longest delay of its own process that a consumer catches up with."""


class NetQueueProducer:
    """Sends at its schedule, the same as in the simulated world."""

    def __init__(self, client: QueueProducer, history: ProducerHistory, stage: NetStage) -> None:
        """Nothing happens before ``run``."""
        self.history = history
        self._client = client
        self._stage = stage
        self._schedule = Schedule(client, stage, random_stream(stage.seed, client.name, "jitter"))
        self._in_flight: set[asyncio.Task[None]] = set()
        self._settled = asyncio.Event()
        self._present = asyncio.Event()
        self._present.set()

    def leave(self) -> None:
        """Stop sending until ``come_back``."""
        self._present.clear()

    def come_back(self) -> None:
        """Go on."""
        self._present.set()

    async def run(self) -> None:
        """Send everything, and wait for its outcome."""
        client = await connect(self._stage.url, name=self._client.name, options=OPTIONS)
        try:
            sender = client.queues.sender(self._client.queue, self._client.name)
            while self._schedule.due_at is not None and not self._out_of_time:
                await self._present.wait()
                await self._until_due()
                while self._schedule.is_due(time.time_ns()) and not self._blocked:
                    self._send(sender)
                    await asyncio.sleep(0)
            if self._in_flight:
                await asyncio.wait(self._in_flight)
        finally:
            for task in self._in_flight:
                task.cancel()
            await close(client)

    @property
    def _out_of_time(self) -> bool:
        """Whether it sends as fast as possible, and its time is over."""
        return self._schedule.deadline is None and time.time_ns() >= self._stage.stop_at

    @property
    def _blocked(self) -> bool:
        limit = self._client.max_in_flight
        return bool(limit) and self.history.pending + self._schedule.rows > limit

    async def _until_due(self) -> None:
        """Wait until the next batch is due and there is room for it."""
        due_at = self._schedule.deadline
        if due_at is not None:
            await asyncio.sleep(max(0.0, in_seconds(due_at - time.time_ns())))
        while self._blocked:
            self._settled.clear()
            await self._settled.wait()

    def _send(self, sender: QueueSender) -> None:
        source = self.history.source
        assert source is not None, "the history was told what it sends"
        batch = source.batch(len(self.history), self._schedule.rows)
        first = self.history.submitted(batch, time.time_ns())
        self._schedule.advance()
        task = asyncio.get_running_loop().create_task(self._outcome(sender, batch, first))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def _outcome(self, sender: QueueSender, batch: Batch, first: int) -> None:
        outcome, reason = Outcome.CONFIRMED, ""
        try:
            await sender.publish_batch(batch)
        except PublishRefusedError as error:
            outcome, reason = Outcome.REFUSED, error.reason
        except PenstockError as error:
            outcome, reason = Outcome.UNCERTAIN, str(error)
        self.history.settled(first, len(batch), outcome, time.time_ns(), reason)
        self._settled.set()


class _Acknowledged(msgspec.Struct, frozen=True):
    """Messages that the application acknowledged, and on which connection they came."""

    generation: int
    first: int
    count: int


class NetQueueConsumer(Visitor):
    """Works on messages at its rate and acknowledges them."""

    def __init__(self, client: QueueConsumer, history: ConsumerHistory, stage: NetStage) -> None:
        """Nothing happens before ``run``."""
        super().__init__(client.name, stage.url)
        self.history = history
        self._client = client
        self._stage = stage
        self._due_s = 0.0
        self._acknowledged: list[_Acknowledged] = []
        self._flushed: deque[tuple[int, list[_Acknowledged]]] = deque()
        self._changed = asyncio.Event()

    async def _attend(self, client: Client) -> bool:
        """Consume until it is told to leave."""
        wish = self._client
        receiver = client.queues.receive(wish.queue, selector=wish.selector, prefetch=wish.prefetch)
        loop = asyncio.get_running_loop()
        leaving = loop.create_task(self._leaving.wait())
        tasks = [leaving, *map(loop.create_task, (self._work(receiver), self._flush(receiver)))]
        try:
            await receiver.open()
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._acknowledged.clear()
            self._flushed.clear()
            self.history.closed(time.time_ns())
        return False

    async def _work(self, receiver: Receiver) -> None:
        async for batch in receiver.batches():
            self._confirm(batch.generation)
            first = self.history.received(batch.delivery, time.time_ns())
            await self._work_on(batch, first)

    async def _work_on(self, batch: QueueBatch, first: int) -> None:
        messages = list(batch)
        paced = self._rate > 0
        at_once = WORK_ROWS if paced else len(messages)
        for place in range(0, len(messages), at_once):
            some = messages[place : place + at_once]
            if paced:
                await self._take_time(len(some))
            for message in some:
                message.ack()
            self.history.consumed(first + place, len(some), time.time_ns())
            self._acknowledged.append(_Acknowledged(batch.generation, first + place, len(some)))
            self._changed.set()

    @property
    def _rate(self) -> float:
        return step_at(self._client.rate_msgs_per_s, self._stage.second(time.time_ns()))

    async def _take_time(self, count: int) -> None:
        """Take the working time of this many messages."""
        now_s = self._stage.second(time.time_ns())
        rate = self._rate
        working_s = count / rate if rate else 0.0
        self._due_s = max(self._due_s, now_s - CATCH_UP_S) + working_s
        await asyncio.sleep(max(0.0, self._due_s - now_s))

    # -- confirmations ----------------------------------------------------------------------

    async def _flush(self, receiver: Receiver) -> None:
        """Wait for acknowledgements to be durable, beside the work."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            flushed, self._acknowledged = self._acknowledged, []
            await receiver.flush()
            self._flushed.append((time.time_ns(), flushed))

    def _confirm(self, generation: int) -> None:
        """A batch came on this connection.

        ``flush`` returns too when the connection is lost and with it the acknowledgements.  What
        was flushed is known to be durable when the same connection delivers once more.
        """
        while self._flushed:
            at, flushed = self._flushed.popleft()
            for each in flushed:
                if each.generation == generation:
                    self.history.confirmed(each.first, each.count, at)
