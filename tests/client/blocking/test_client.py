"""The blocking client against a real broker."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import penstock
from penstock.client.blocking import client as blocking
from penstock.client.blocking.publisher import MAX_QUEUED_ROWS
from penstock.net.process import free_port

DEADLINE_S = 20.0


@pytest.fixture
def client(url: str) -> Iterator[blocking.Client]:
    with penstock.blocking.connect(url, deadline_s=DEADLINE_S) as connected:
        yield connected


def topic(name: str, count: int) -> list[tuple[dict[str, str | int], bytes]]:
    return [({"topic": name, "n": n}, b"x") for n in range(count)]


def test_publish_and_receive(client: blocking.Client) -> None:
    with client.subscribe("topic = 'simple'") as subscription:
        receipt = client.publish({"topic": "simple", "n": 1}, b"payload")
        message = subscription.next(deadline_s=DEADLINE_S)
        assert (message["n"], message.payload, message.tick) == (1, b"payload", receipt.tick)
        assert client.connected
        assert client.name.startswith("client-")


def test_a_loop_opens_and_closes_its_subscription(client: blocking.Client) -> None:
    client.publish_batch(topic("loop", 700))
    seen = []
    for message in client.subscribe("topic = 'loop'", start="earliest"):
        seen.append(message["n"])
        if len(seen) == 700:
            break
    assert seen == list(range(700))


def test_a_loop_that_was_left_goes_on_where_it_stopped(client: blocking.Client) -> None:
    with client.subscribe("topic = 'left'") as subscription:
        client.publish_batch(topic("left", 6))
        seen = []
        for _ in range(3):
            for message in subscription.messages(deadline_s=DEADLINE_S):
                seen.append(message["n"])
                if len(seen) % 2 == 0:
                    break
        assert seen == [0, 1, 2, 3, 4, 5]


def test_batches_and_a_deadline_between_them(client: blocking.Client) -> None:
    numbers: list[object] = []
    with client.subscribe("topic = 'batches'") as subscription:
        client.publish_batch(topic("batches", 600))
        batches = subscription.batches(deadline_s=1.0)
        while len(numbers) < 600:
            numbers += next(batches).column("n")
        with pytest.raises(penstock.DeadlineExceeded, match="no message came"):
            next(batches)
        assert numbers == list(range(600))
        assert subscription.positions.keys() == {"a.1", "a.2"}
        assert subscription.lost == {}


def test_sending_at_a_high_rate_from_several_threads(client: blocking.Client) -> None:
    count = 3 * MAX_QUEUED_ROWS
    with (
        client.subscribe("topic = 'rate'") as subscription,
        client.publisher(pubend="a.1") as publisher,
    ):

        def send(thread: int) -> None:
            for n in range(count // 3):
                publisher.send({"topic": "rate", "thread": thread, "n": n})

        threads = [threading.Thread(target=send, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        publisher.flush()
        assert publisher.pubend == "a.1"
        assert publisher.next_sequence == count
        assert publisher.throttle is None
        seen: dict[object, list[object]] = {0: [], 1: [], 2: []}
        for _ in range(count):
            message = subscription.next(deadline_s=DEADLINE_S)
            seen[message["thread"]].append(message["n"])
        assert all(numbers == list(range(count // 3)) for numbers in seen.values())


def test_what_was_sent_goes_before_what_is_published_after(client: blocking.Client) -> None:
    publisher = client.publisher("ordered", pubend="a.2")
    publisher.send({"n": 1})
    assert publisher.publish({"n": 2}).sequence == 1
    publisher.send({"n": 3})
    assert publisher.publish_batch([({"n": 4}, b"")])[0].first_sequence == 3
    assert publisher.name == "ordered"


def test_closing_the_client_sends_what_its_publishers_hold(url: str) -> None:
    with penstock.blocking.connect(url) as client:
        publisher = client.publisher("held", pubend="a.1")
        for n in range(1000):
            publisher.send({"n": n})
    assert publisher.closed
    with pytest.raises(penstock.Disconnected, match="was closed"):
        publisher.send({})
    with penstock.blocking.connect(url) as client, client.publisher("held", pubend="a.1") as again:
        assert again.next_sequence == 1000


def test_mistakes_are_raised_where_they_are_made(client: blocking.Client) -> None:
    with pytest.raises(TypeError, match="encode it first"):
        client.publisher().send({}, "text")  # type: ignore[arg-type]
    with pytest.raises(penstock.InvalidAttribute):
        client.publish({"n": object()})  # type: ignore[dict-item]
    with pytest.raises(penstock.SubscribeRefusedError):
        client.subscribe("topic ====").open()
    with pytest.raises(penstock.PublishRefusedError, match="hosts no pubend"):
        client.publisher(pubend="z").open()
    publisher = client.publisher()
    publisher.send({"n": object()})  # type: ignore[dict-item]
    with pytest.raises(penstock.InvalidAttribute):
        publisher.flush()


def test_trying_gives_something_to_wait_for(client: blocking.Client) -> None:
    publication = client.try_publish({"n": 1})
    assert publication is not None
    assert publication.receipt(deadline_s=DEADLINE_S).tick is not None
    assert publication.settled
    client.flush()


def test_a_durable_worker_with_explicit_acknowledgement(url: str) -> None:
    for expected in (range(5), range(5, 10)):
        with (
            penstock.blocking.connect(url, deadline_s=DEADLINE_S) as client,
            client.subscribe("topic = 'work'", durable="worker", ack="explicit") as subscription,
        ):
            if expected.start == 0:
                client.publish_batch(topic("work", 10))
            for n in expected:
                message = subscription.next(deadline_s=DEADLINE_S)
                assert message["n"] == n
                with message.process():
                    pass
            assert subscription.unacknowledged <= 10
            assert subscription.name == "worker"
    with penstock.blocking.connect(url) as client:
        client.delete_subscription("worker")


def test_a_closed_subscription_says_so(client: blocking.Client) -> None:
    subscription = client.subscribe()
    subscription.open()
    subscription.close()
    assert list(subscription) == []
    with pytest.raises(penstock.Disconnected, match="is closed"):
        subscription.next_batch()


def test_the_broker_gives_its_account(client: blocking.Client) -> None:
    assert client.status()["name"] == "a"
    assert isinstance(client.why("a.2"), dict)
    with pytest.raises(penstock.PenstockError, match="nowhere"):
        client.control_link("nowhere", cut=True)


def test_nobody_there() -> None:
    with pytest.raises(penstock.ConnectionFailed, match="Connection refused"):
        penstock.blocking.connect(f"penstock://127.0.0.1:{free_port()}", deadline_s=0.1)


def test_closing_twice_does_nothing(url: str) -> None:
    client = penstock.blocking.connect(url)
    client.close()
    client.close()


def test_an_error_in_the_block_is_not_hidden_by_one_of_closing(url: str) -> None:
    def fail() -> None:
        with penstock.blocking.connect(url) as client:
            client.publisher().send({"n": object()})  # type: ignore[dict-item]
            raise LookupError

    with pytest.raises(LookupError):
        fail()
