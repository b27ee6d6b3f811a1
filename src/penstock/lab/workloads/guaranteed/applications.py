"""Publishers and subscribers of a run in the network world: applications of the client library."""

from __future__ import annotations

import asyncio
import time
from random import Random
from typing import Any

from penstock.client.client import Client, connect
from penstock.client.errors import DataLoss, PenstockError, PublishRefusedError
from penstock.client.guaranteed.start import StartWish
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND, in_seconds
from penstock.lab.oracle.guaranteed.history import Outcome, PublisherHistory, SubscriberHistory
from penstock.lab.workloads.guaranteed.tables import Subscriber
from penstock.lab.workloads.pace import Pace, PacedSlots
from penstock.lab.workloads.visitor import OPTIONS, Visitor, close


class NetPublisher:
    """A publisher with a pace, the same as in the simulated world."""

    def __init__(
        self,
        history: PublisherHistory,
        pace: Pace,
        random: Random,
        url: str,
        *,
        producer: str = "",
    ) -> None:
        """Nothing happens before ``run``; ``producer`` is the name to publish under."""
        self.history = history
        self._producer = producer or history.source.spec.producer
        self._pace = pace
        self._slots = PacedSlots(pace, random)
        self._url = url
        self._in_flight: set[asyncio.Task[None]] = set()
        self._in_flight_messages = 0
        self._room = asyncio.Event()
        self._present = asyncio.Event()
        self._present.set()

    def leave(self) -> None:
        """Stop publishing until ``come_back``."""
        self._present.clear()

    def come_back(self) -> None:
        """Go on."""
        self._present.set()

    async def run(self) -> None:
        """Publish at the pace, and wait for the outcome of every message."""
        spec = self.history.source.spec
        client = await connect(self._url, name=spec.producer, options=OPTIONS)
        try:
            publisher = client.publisher(self._producer, pubend=spec.pubend)
            while not self._finished:
                await self._until_due()
                if not self._finished:
                    self._publish(publisher)
            if self._in_flight:
                await asyncio.wait(self._in_flight)
        finally:
            for task in self._in_flight:
                task.cancel()
            await close(client)

    @property
    def _finished(self) -> bool:
        limit = self._pace.messages
        done = bool(limit) and len(self.history) >= limit
        return done or time.time_ns() >= self._pace.stop_at

    async def _until_due(self) -> None:
        """Wait for the next slot, for window space, and for the publisher to be present."""
        await self._present.wait()
        limit = self._pace.max_in_flight
        while limit and self._in_flight_messages + self._pace.batch_rows > limit:
            self._room.clear()
            left_s = in_seconds(self._pace.stop_at - time.time_ns())
            if left_s <= 0:
                return
            try:
                await asyncio.wait_for(self._room.wait(), left_s)
            except TimeoutError:
                return
        now = time.time_ns()
        if self._pace.has_rate:
            # Slots that passed while the publisher was blocked are skipped.
            while self._slots.next_at < now - SECOND:
                self._slots.advance()
            due = min(self._slots.next_at, self._pace.stop_at)
            await asyncio.sleep(max(0.0, in_seconds(due - now)))
            self._slots.advance()
        else:
            await asyncio.sleep(0)

    def _publish(self, publisher: Any) -> None:
        count = self._pace.batch_rows
        if self._pace.messages:
            count = min(count, self._pace.messages - len(self.history))
        first = self.history.submitted(count, time.time_ns())
        self._in_flight_messages += count
        task = asyncio.get_running_loop().create_task(self._settled(publisher, first, count))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def _settled(self, publisher: Any, first: int, count: int) -> None:
        history = self.history
        try:
            receipts = await publisher.publish_batch(history.source.batch(first, count))
        except PublishRefusedError as error:
            history.failed(first, count, Outcome.REFUSED, error.reason, time.time_ns())
        except PenstockError as error:
            history.failed(first, count, Outcome.UNCERTAIN, str(error), time.time_ns())
        else:
            at = first
            for receipt in receipts:
                history.pubends.add(receipt.pubend)
                history.acknowledged(at, receipt.count, receipt.first_tick, time.time_ns())
                at += receipt.count
        finally:
            self._in_flight_messages -= count
            self._room.set()


class NetSubscriber(Visitor):
    """A subscriber that reads at its pace."""

    def __init__(self, history: SubscriberHistory, subscriber: Subscriber, url: str) -> None:
        """Nothing happens before ``run``."""
        super().__init__(history.name, url)
        self.history = history
        self._subscriber = subscriber
        self._start: StartWish = subscriber.start

    async def _attend(self, client: Client) -> bool:
        wish = self._subscriber
        subscription = client.subscribe(
            wish.selector,
            durable=wish.name if wish.durable else None,
            start=self._start,
            ack="explicit",
            window_bytes=wish.window_bytes,
        )
        reading = asyncio.get_running_loop().create_task(self._read(subscription))
        leaving = asyncio.get_running_loop().create_task(self._leaving.wait())
        try:
            await asyncio.wait((reading, leaving), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
        finally:
            reading.cancel()
            leaving.cancel()
            await asyncio.gather(reading, leaving, return_exceptions=True)
            if not wish.durable and subscription.positions:
                self._start = subscription.positions
        return False

    async def _read(self, subscription: Any) -> None:
        history = self.history
        async with subscription:
            history.in_force(time.time_ns(), subscription.positions)
            while True:
                try:
                    batch = await subscription.next_batch()
                except DataLoss as loss:
                    lost = Frame(loss.low, loss.high, final=True)
                    history.received(loss.pubend, lost, time.time_ns())
                    continue
                history.received(batch.pubend, batch.frame, time.time_ns())
                # Immediately: cancellation between the two would cause a redelivery.
                batch.ack()
                if self._subscriber.read_msgs_per_s:
                    await asyncio.sleep(len(batch) / self._subscriber.read_msgs_per_s)
