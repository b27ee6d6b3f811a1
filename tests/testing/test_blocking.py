"""The broker for tests without an event loop."""

from __future__ import annotations

import inspect
import time
from datetime import timedelta

import pytest

import penstock
import penstock.testing
from penstock.testing import BlockingBroker, Broker, BrokerMisused, TimeLimitReached


def test_publish_and_subscribe() -> None:
    with penstock.testing.blocking_broker() as broker, broker.connect() as client:
        with client.subscribe("price > 40") as subscription:
            client.publish({"price": 41.0}, b"one")
            client.publish({"price": 12.0}, b"two")
            assert subscription.next(deadline_s=5).payload == b"one"
        assert [message.payload for message in broker.published()] == [b"one", b"two"]
        assert broker.status().sessions == 1


def test_the_fast_publisher() -> None:
    with penstock.testing.blocking_broker() as broker:
        with broker.connect() as client, client.publisher() as publisher:
            for number in range(10_000):
                publisher.send({"number": number})
            publisher.flush()
        numbers = [message["number"] for message in broker.published()]
        assert numbers == list(range(10_000))


def test_queues_and_groups() -> None:
    with penstock.testing.blocking_broker(queues=["orders"]) as broker:
        client = broker.connect("ann")
        client.queues.send("orders", {"number": 7})
        with client.queues.receive("orders") as receiver:
            message = next(iter(receiver))
            assert broker.queue("orders").in_flight == 1
            message.ack()
            receiver.flush()
        assert broker.queue("orders").in_flight == 0
        with client.group("chat") as group:
            assert group.members == ("ann@broker",)


def test_time_passes_only_while_a_call_waits() -> None:
    with penstock.testing.blocking_broker() as broker, broker.connect() as client:
        began = broker.now
        time.sleep(0.02)
        assert broker.now == began
        broker.advance(3600)
        assert broker.now - began == timedelta(hours=1)
        with client.subscribe() as subscription:
            began = broker.now
            with pytest.raises(penstock.DeadlineExceeded):
                subscription.next(deadline_s=60)
            assert broker.now - began == timedelta(seconds=60)


def test_faults() -> None:
    with penstock.testing.blocking_broker(queues=["orders"]) as broker:
        client = broker.connect()
        client.publish({"number": 1})
        broker.restart(after_s=5)
        client.publish({"number": 2})
        assert broker.drop_connections() == 1
        client.publish({"number": 3})
        broker.fill_disk()
        with pytest.raises(penstock.PublishRefusedError, match="full"):
            client.publish({"number": 4})
        broker.fill_disk(full=False)
        broker.pause()
        with pytest.raises(penstock.DeadlineExceeded):
            client.publish({"number": 5}, deadline_s=1)
        broker.resume()
        broker.stop()
        broker.start()
        broker.crash()
        with pytest.raises(BrokerMisused, match="is down"):
            broker.queue("orders")
        broker.start()
        client.publish({"number": 6})
        broker.fail_disk()
        with pytest.raises(penstock.PublishUncertain):
            client.publish({"number": 7})
        numbers = [message["number"] for message in broker.published()]
        assert numbers[:5] == [1, 2, 3, 5, 6]


def test_an_application_connects_by_the_url() -> None:
    with penstock.testing.blocking_broker() as broker:
        with penstock.blocking.connect(broker.url) as client:
            client.publish({"a": 1})
        assert len(broker.published()) == 1
        with pytest.raises(BrokerMisused, match="pass another name="):
            penstock.testing.blocking_broker().__enter__()
        with penstock.testing.blocking_broker(name="second") as second:
            assert second.url != broker.url


def test_clients_are_closed_one_by_one() -> None:
    with penstock.testing.blocking_broker() as broker:
        first, second = broker.connect(), broker.connect()
        first.close()
        second.publish({"a": 1})
        first.close()


def test_a_test_that_waits_for_ever_fails() -> None:
    with (
        penstock.testing.blocking_broker(limit_s=60) as broker,
        broker.connect() as client,
        client.subscribe() as subscription,
    ):
        with pytest.raises(TimeLimitReached, match="limit_s above 60"):
            subscription.next()
        client.publish({"a": 1})


def test_real_time_is_an_option() -> None:
    with penstock.testing.blocking_broker(virtual_time=False) as broker, broker.connect() as client:
        client.publish({"a": 1})


def test_a_broker_that_cannot_start_says_why() -> None:
    with (
        pytest.raises(ValueError, match="limit_s=-1"),
        penstock.testing.blocking_broker(limit_s=-1),
    ):
        pass


def test_it_has_what_the_asynchronous_broker_has() -> None:
    """The same names with the same parameters."""

    def methods(kind: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(member).parameters)
            for name, member in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_")
        }

    asynchronous = methods(Broker)
    del asynchronous["control_link"]  # for overlays, which have an event loop
    assert methods(BlockingBroker) == asynchronous
    made, blocking = penstock.testing.broker, penstock.testing.blocking_broker
    assert inspect.signature(made).parameters == inspect.signature(blocking).parameters
