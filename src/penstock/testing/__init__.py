"""A broker in memory with virtual time, for tests of applications that use Penstock.

    async def test_orders_are_booked():
        async with penstock.testing.broker(queues=["orders"]) as broker:
            async with broker.connect() as client:
                await client.queues.send("orders", {"symbol": "ACME"}, b"42")
                await broker.advance(60)
                assert broker.queue("orders").waiting == 1

No socket, no disk and no waiting; everything else is what runs in production
(docs/how-to/test-your-application.md).
"""

from penstock.testing.blocking import BlockingBroker, blocking_broker
from penstock.testing.broker import Broker, broker
from penstock.testing.errors import BrokerMisused, TimeLimitReached
from penstock.testing.inspection import PublishedMessage, QueueState
from penstock.testing.overlay import Overlay, overlay
from penstock.testing.running import run

__all__ = [
    "BlockingBroker",
    "Broker",
    "BrokerMisused",
    "Overlay",
    "PublishedMessage",
    "QueueState",
    "TimeLimitReached",
    "blocking_broker",
    "broker",
    "overlay",
    "run",
]
