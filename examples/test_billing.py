"""Tests of an application, with its crashes, in virtual time.

python -m pytest examples/test_billing.py

The application is ``Biller``: it takes orders from a queue, charges each of them, and gives up on
an order that could not be charged three times.  The broker is the real one, in memory: no process,
no port, no file, and nothing waits for real.
"""

from __future__ import annotations

import asyncio
import json

import penstock
import penstock.testing

QUEUES = {"orders": {"max_deliveries": 3}}


class Biller:
    """The application."""

    def __init__(self, client: penstock.Client) -> None:
        self.client = client
        self.charged: list[int] = []
        self.bank_is_open = True

    async def run(self) -> None:
        """Charge orders until cancelled; what fails is tried again after a minute."""
        async for message in self.client.queues.receive("orders", prefetch=1):
            order = json.loads(message.payload)
            if self.bank_is_open:
                await asyncio.sleep(2)  # banks are slow
                self.charged.append(order["number"])
                message.ack()
                await self.client.publish({"topic": "charged", "number": order["number"]})
            else:
                await asyncio.sleep(60)
                message.nack()


async def place(client: penstock.Client, *numbers: int) -> None:
    """What the shop does."""
    for number in numbers:
        await client.queues.send("orders", {}, json.dumps({"number": number}).encode())


async def test_orders_are_charged() -> None:
    async with penstock.testing.broker(queues=QUEUES) as broker, broker.connect() as client:
        biller = Biller(client)
        working = asyncio.create_task(biller.run())
        await place(client, 1, 2, 3)
        await broker.advance(10)
        assert biller.charged == [1, 2, 3]
        assert [message["number"] for message in broker.published()] == [1, 2, 3]
        assert broker.queue("orders").waiting == 0
        working.cancel()


async def test_an_order_survives_the_death_of_its_biller() -> None:
    async with penstock.testing.broker(queues=QUEUES) as broker, broker.connect() as shop:
        await place(shop, 7)
        first = Biller(await broker.connect())
        dying = asyncio.create_task(first.run())
        await broker.advance(1)  # it is in the middle of its work
        assert broker.queue("orders").in_flight == 1
        dying.cancel()
        await first.client.close()

        second = Biller(await broker.connect())
        working = asyncio.create_task(second.run())
        await broker.advance(10)
        assert (first.charged, second.charged) == ([], [7])
        working.cancel()


async def test_an_order_that_nobody_can_charge_is_a_dead_letter() -> None:
    async with penstock.testing.broker(queues=QUEUES) as broker, broker.connect() as client:
        biller = Biller(client)
        biller.bank_is_open = False
        working = asyncio.create_task(biller.run())
        await place(client, 13)
        await broker.advance(179)
        assert broker.queue("dead-letters").waiting == 0
        await broker.advance(2)
        assert broker.queue("dead-letters").waiting == 1
        working.cancel()


async def test_billing_goes_on_after_the_broker_has_crashed() -> None:
    async with penstock.testing.broker(queues=QUEUES) as broker, broker.connect() as client:
        biller = Biller(client)
        working = asyncio.create_task(biller.run())
        await place(client, 1, 2)
        await broker.restart(after_s=30)
        await place(client, 3)
        await broker.advance(10)
        # An order whose charge was under way may be charged twice, and none is forgotten.
        assert set(biller.charged) == {1, 2, 3}
        working.cancel()
