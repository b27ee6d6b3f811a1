"""A worker that may crash at any time and never misses an order.

The broker keeps the subscription "billing" while the worker is away.  An order is acknowledged when
its block ends without an exception; a restarted worker continues with the first unacknowledged one.

    PENSTOCK_URL=penstock://127.0.0.1:7400 python examples/durable_worker.py 10

processes ten orders, which it publishes itself first.
"""

from __future__ import annotations

import asyncio
import json
import sys

import penstock


async def place_orders(client: penstock.Client, count: int) -> None:
    """Many messages at once share batches; the flush at the end waits for all receipts."""
    async with client.publisher() as publisher:
        for number in range(count):
            order = json.dumps({"number": number, "amount": 10 * number})
            await publisher.send({"topic": "orders", "country": "PT"}, order.encode())


async def bill(order: dict[str, int]) -> None:
    """Work that takes time and may fail."""
    print(f"billed order {order['number']}: {order['amount']}")


async def main(count: int) -> None:
    """Bill as many orders as were placed."""
    async with (
        penstock.connect() as client,
        client.subscribe("topic = 'orders'", durable="billing", ack="explicit") as subscription,
    ):
        await place_orders(client, count)
        billed = 0
        async for message in subscription:
            async with message.process():
                await bill(json.loads(message.payload))
            billed += 1
            if billed == count:
                break


asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
