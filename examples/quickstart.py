"""Publish three prices and receive those above 40.

penstock up                                    # in another terminal
PENSTOCK_URL=penstock://127.0.0.1:7400 python examples/quickstart.py
"""

from __future__ import annotations

import asyncio

import penstock

PRICES = {"ACME": 41.0, "IBEX": 97.5, "GLOBEX": 12.25}


async def main() -> None:
    """Subscribe first: a subscription does not receive messages from before it was in force."""
    async with (
        penstock.connect() as client,
        client.subscribe("topic = 'prices' AND price > 40") as subscription,
    ):
        for symbol, price in PRICES.items():
            receipt = await client.publish(
                {"topic": "prices", "symbol": symbol, "price": price}, b"any bytes you like"
            )
            print(f"published {symbol} at tick {receipt.tick} of {receipt.pubend}")
        for _ in range(2):
            message = await subscription.next(deadline_s=10)
            print(f"received {message['symbol']} at {message['price']}")


asyncio.run(main())
