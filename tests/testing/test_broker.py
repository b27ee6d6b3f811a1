"""The broker as a user's test sees it."""

from __future__ import annotations

import asyncio
import unittest
from datetime import timedelta
from typing import Any

import pytest

import penstock
import penstock.testing
from penstock.client.queues.reader import ReceiveRefusedError
from penstock.core.machine import Fact
from penstock.core.machine_failure import MachineFailed
from penstock.net.broker.config import ConfigError
from penstock.testing import BrokerMisused


async def test_a_subscriber_gets_what_matches() -> None:
    async with (
        penstock.testing.broker() as broker,
        broker.connect() as client,
        client.subscribe("price > 40") as subscription,
    ):
        receipt = await client.publish({"symbol": "ACME", "price": 41.0}, b"one")
        await client.publish({"symbol": "GLOBEX", "price": 12.0}, b"two")
        await client.publish({"symbol": "IBEX", "price": 97.5}, b"three")
        first = await subscription.next(deadline_s=5)
        second = await subscription.next(deadline_s=5)
        assert [first.payload, second.payload] == [b"one", b"three"]
        published = broker.published()
    assert [message["symbol"] for message in published] == ["ACME", "GLOBEX", "IBEX"]
    assert (published[0].pubend, published[0].tick) == (receipt.pubend, receipt.tick)


async def test_an_application_connects_by_the_url() -> None:
    async with penstock.testing.broker() as broker, penstock.connect(broker.url) as client:
        await client.publish({"a": 1})
        assert broker.status().sessions == 1


async def test_what_the_network_would_refuse_is_refused() -> None:
    settings = {"limits": {"max_payload_bytes": 100}}
    async with penstock.testing.broker(settings=settings) as broker, broker.connect() as client:
        with pytest.raises(penstock.PublishRefusedError, match="max_payload_bytes"):
            await client.publish({}, b"x" * 101)
        await client.publish({}, b"x" * 100)
        assert len(broker.published()) == 1


async def test_clients_that_are_left_open_are_closed_with_the_broker() -> None:
    async with penstock.testing.broker() as broker:
        client = await broker.connect()
        publication = client.try_publish({"a": 1})
        assert publication is not None
    assert publication.settled
    assert not client.connected
    with pytest.raises(penstock.Disconnected):
        await client.publish({"a": 2})


# -- time ---------------------------------------------------------------------------------


async def test_an_hour_passes_at_once() -> None:
    async with penstock.testing.broker() as broker, broker.connect() as client:
        began = broker.now
        await broker.advance(3600)
        assert broker.now - began == timedelta(hours=1)
        receipt = await client.publish({"a": 1})
        assert broker.published()[0].published_at - began >= timedelta(hours=1)
        assert receipt.tick == broker.published()[0].tick


async def test_deadlines_and_sleeps_are_virtual() -> None:
    async with (
        penstock.testing.broker() as broker,
        broker.connect() as client,
        client.subscribe() as subscription,
    ):
        began = broker.now
        await asyncio.sleep(600)
        assert broker.now - began == timedelta(seconds=600)
        with pytest.raises(penstock.DeadlineExceeded):
            await subscription.next(deadline_s=60)
        assert broker.now - began == timedelta(seconds=660)


async def test_messages_of_a_queue_expire() -> None:
    async with penstock.testing.broker(queues=["orders"]) as broker, broker.connect() as client:
        await client.queues.send("orders", {"number": 1}, time_to_live_s=30)
        await broker.advance(29)
        assert broker.queue("orders").waiting == 1
        await broker.advance(2)
        assert broker.queue("orders").waiting == 0
        assert broker.queue("orders").expired == 1


async def test_real_time_is_an_option() -> None:
    async with (
        penstock.testing.broker(virtual_time=False) as broker,
        broker.connect() as client,
    ):
        await client.publish({"a": 1})
        with pytest.raises(BrokerMisused, match="real time"):
            await broker.advance(1)


# -- crashes ------------------------------------------------------------------------------


async def test_a_durable_subscription_goes_on_after_a_restart() -> None:
    async with penstock.testing.broker() as broker, broker.connect() as client:
        reading = client.subscribe(durable="billing", ack="explicit")
        async with reading as subscription:
            for number in range(3):
                await client.publish({"number": number})
            first = await subscription.next(deadline_s=5)
            first.ack()
        # Positions are saved once a second; a crash before that would repeat the first message.
        await broker.advance(2)
        await broker.restart()
        await client.publish({"number": 3})
        async with client.subscribe(durable="billing") as subscription:
            rest = [(await subscription.next(deadline_s=5))["number"] for _ in range(3)]
        assert rest == [1, 2, 3]


@pytest.mark.parametrize("seed", range(8))
async def test_a_crash_loses_only_what_has_no_receipt(seed: int) -> None:
    async with (
        penstock.testing.broker(seed=seed) as broker,
        broker.connect() as client,
        client.publisher() as publisher,
    ):
        for number in range(5):
            await publisher.publish({"number": number})
        late = asyncio.create_task(publisher.publish({"number": 5}))
        # The message is at the broker, whose disk takes a millisecond to sync.
        await broker.advance(0.0005)
        assert not late.done()
        await broker.crash()
        stored = [message["number"] for message in broker.published()]
        assert stored in ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5])
        await broker.start()
        await late
        assert [message["number"] for message in broker.published()] == [0, 1, 2, 3, 4, 5]


async def test_a_crash_takes_effect_by_the_seed() -> None:
    async def survives(seed: int) -> bool:
        async with penstock.testing.broker(seed=seed) as broker, broker.connect() as client:
            await client.publish({"number": 0})
            late = asyncio.create_task(client.publish({"number": 1}))
            await broker.advance(0.0005)
            await broker.crash()
            survived = len(broker.published()) == 2
            await broker.start()
            await late
            return survived

    outcomes = [await survives(seed) for seed in range(8)]
    assert True in outcomes
    assert False in outcomes
    assert outcomes == [await survives(seed) for seed in range(8)]


async def test_a_broker_that_is_down_is_waited_for() -> None:
    async with penstock.testing.broker() as broker, broker.connect() as client:
        await broker.stop()
        with pytest.raises(BrokerMisused, match="is down; start it"):
            broker.queue("orders")
        publishing = asyncio.create_task(client.publish({"a": 1}))
        await broker.advance(10)
        assert not publishing.done()
        await broker.start()
        await publishing
        with pytest.raises(BrokerMisused, match="runs already"):
            await broker.start()


async def test_who_connects_to_a_broker_that_is_down_is_refused() -> None:
    async with penstock.testing.broker() as broker:
        await broker.crash()
        with pytest.raises(penstock.ConnectionFailed, match="Connection refused"):
            await broker.connect(deadline_s=1)


async def test_dropped_connections_come_back() -> None:
    async with (
        penstock.testing.broker() as broker,
        broker.connect() as client,
        client.subscribe() as subscription,
    ):
        assert broker.drop_connections() == 1
        await broker.advance(1)
        assert client.connected
        await client.publish({"a": 1})
        assert (await subscription.next(deadline_s=5))["a"] == 1


async def test_a_broker_that_hangs_is_found_out_and_comes_back() -> None:
    async with penstock.testing.broker() as broker, broker.connect() as client:
        broker.pause()
        with pytest.raises(penstock.DeadlineExceeded):
            await client.publish({"number": 1}, deadline_s=3)
        await broker.advance(10)
        assert not client.connected
        broker.resume()
        await broker.advance(10)
        assert client.connected
        await client.publish({"number": 2})
        assert [message["number"] for message in broker.published()] == [1, 2]


async def test_a_full_disk_refuses() -> None:
    async with penstock.testing.broker() as broker, broker.connect() as client:
        await client.publish({"number": 1})
        broker.fill_disk()
        with pytest.raises(penstock.PublishRefusedError, match="the disk is full"):
            await client.publish({"number": 2})
        broker.fill_disk(full=False)
        await client.publish({"number": 3})
        assert [message["number"] for message in broker.published()] == [1, 3]


async def test_after_a_failed_sync_the_outcome_is_uncertain() -> None:
    async with penstock.testing.broker() as broker, broker.connect() as client:
        await client.publish({"number": 1})
        broker.fail_disk()
        with pytest.raises(penstock.PublishUncertain):
            await client.publish({"number": 2})
        await broker.restart()
        await client.publish({"number": 3})
        numbers = [message["number"] for message in broker.published()]
        assert numbers in ([1, 3], [1, 2, 3])


async def test_a_machine_that_raises_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with penstock.testing.broker() as broker, broker.connect(deadline_s=1) as client:

            def handle(fact: Fact, **now: Any) -> Any:
                raise ZeroDivisionError("a defect")

            monkeypatch.setattr(broker._running.node, "handle", handle)
            with pytest.raises(penstock.PenstockError):
                await client.publish({"a": 1})
            with pytest.raises(MachineFailed):
                broker.status()

    with pytest.raises(MachineFailed, match="a defect"):
        await run()


# -- queues and groups --------------------------------------------------------------------


async def test_a_message_of_a_dead_consumer_is_delivered_again() -> None:
    async with penstock.testing.broker(queues=["orders"]) as broker, broker.connect() as client:
        await client.queues.send("orders", {"number": 7})
        assert broker.queue("orders").waiting == 1
        dying = await broker.connect()
        async for message in dying.queues.receive("orders"):
            assert not message.redelivered
            assert (broker.queue("orders").waiting, broker.queue("orders").in_flight) == (0, 1)
            # The consumer dies at its work, with the connection and without an acknowledgement.
            broker.drop_connections()
            break
        async for message in client.queues.receive("orders"):
            assert message["number"] == 7
            assert message.redelivered
            message.ack()
            break
        await broker.advance(1)
        assert broker.queue("orders").in_flight == 0


async def test_a_message_that_fails_too_often_is_a_dead_letter() -> None:
    queues = {"orders": {"max_deliveries": 2}}
    async with penstock.testing.broker(queues=queues) as broker, broker.connect() as client:
        await client.queues.send("orders", {"number": 7})
        async with client.queues.receive("orders") as receiver:
            for _ in range(2):
                batch = await receiver.next_batch(deadline_s=5)
                assert batch is not None
                next(iter(batch)).nack()
            await receiver.flush()
        assert broker.queue("orders").dead == 1
        assert broker.queue("dead-letters").waiting == 1


async def test_queues_outlive_a_restart() -> None:
    async with penstock.testing.broker(queues=["orders"]) as broker, broker.connect() as client:
        await client.queues.send("orders", {"number": 7})
        await broker.restart(after_s=5)
        assert broker.queue("orders").waiting == 1


async def test_a_queue_that_does_not_exist() -> None:
    async with penstock.testing.broker(queues=["orders"]) as broker, broker.connect() as client:
        with pytest.raises(BrokerMisused, match=r"'bills'.*it has dead-letters, orders.*queues="):
            broker.queue("bills")
        with pytest.raises(ReceiveRefusedError):
            await client.queues.receive("bills").open()


async def test_groups() -> None:
    async with (
        penstock.testing.broker() as broker,
        broker.connect("ann") as ann,
        broker.connect("bob") as bob,
        ann.group("chat") as here,
        bob.group("chat") as there,
    ):
        await here.wait_for_view(2)
        assert here.members == ("ann@broker", "bob@broker")
        await here.send({"text": "hello"})
        batch = await there.next_batch(deadline_s=5)
        assert batch is not None
        assert [message["text"] for message in batch] == ["hello"]
        await bob.close()
        await broker.advance(1)
        assert here.members == ("ann@broker",)


# -- mistakes -----------------------------------------------------------------------------


async def test_a_broker_is_used_inside_of_its_block() -> None:
    broker = penstock.testing.broker()
    with pytest.raises(BrokerMisused, match="async with"):
        broker.connect()
    async with broker:
        pass
    with pytest.raises(BrokerMisused, match="async with"):
        broker.published()


async def test_two_brokers_need_two_names() -> None:
    async with penstock.testing.broker() as first, first.connect() as client:
        with pytest.raises(BrokerMisused, match="pass another name="):
            await penstock.testing.broker().__aenter__()
        async with penstock.testing.broker(name="second") as second:
            assert second.url != first.url
        await client.publish({"a": 1})


def test_settings_are_checked_as_in_a_file() -> None:
    with pytest.raises(ConfigError, match="did you mean 'max_payload_bytes'"):
        penstock.testing.broker(settings={"limits": {"max_payload_byte": 1}})
    with pytest.raises(TypeError, match=r"queues=\['orders'\]"):
        penstock.testing.broker(queues="orders")


async def test_no_time_is_lost_on_the_loop_afterwards() -> None:
    loop = asyncio.get_running_loop()
    before = loop.time()
    async with penstock.testing.broker() as broker:
        await broker.advance(3600)
        assert loop.time() >= 3600
    assert 0 <= loop.time() - before < 3600


class TestInUnittest(unittest.IsolatedAsyncioTestCase):
    """The event loop of unittest is as good as that of pytest-asyncio."""

    async def asyncSetUp(self) -> None:
        self.broker = penstock.testing.broker()
        await self.broker.__aenter__()
        self.addAsyncCleanup(self.broker.__aexit__, None, None, None)

    async def test_time_is_virtual(self) -> None:
        async with self.broker.connect() as client:
            await self.broker.advance(3600)
            await client.publish({"a": 1})
        assert len(self.broker.published()) == 1
