"""Reading exactly an interval of a stream: subscriptions with an end, at real brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import penstock
from penstock.client.blocking import client as blocking
from penstock.net.process import BrokerProcess


def url_of(*brokers: BrokerProcess) -> str:
    return "penstock://" + ",".join(f"{host}:{port}" for host, port in (b.address for b in brokers))


@pytest.fixture
def client(url: str) -> Iterator[blocking.Client]:
    with blocking.connect(url) as connected:
        yield connected


def publish(client: blocking.Client, pubend: str, numbers: range) -> list[int]:
    """Publish numbered messages to a pubend; their ticks."""
    publisher = client.publisher(pubend=pubend)
    ticks: list[int] = []
    for number in numbers:
        (receipt,) = publisher.publish_batch([({"n": number}, b"")])
        ticks.append(receipt.first_tick)
    publisher.close()
    return ticks


def read(client: blocking.Client, selector: str, low: int, high: int, pubend: str) -> list[int]:
    subscription = client.subscribe(selector, start={pubend: low}, end={pubend: high})
    return [int(message["n"]) for message in subscription.messages(deadline_s=30)]


def test_it_holds_exactly_the_messages_between_two_ticks(client: blocking.Client) -> None:
    ticks = publish(client, "a.1", range(20))
    assert read(client, "", ticks[5], ticks[15], "a.1") == list(range(5, 15))
    assert read(client, "", ticks[5] + 1, ticks[15] + 1, "a.1") == list(range(6, 16))
    assert read(client, "n < 8", ticks[5], ticks[15], "a.1") == [5, 6, 7]


def test_an_interval_of_silence_ends_too(client: blocking.Client) -> None:
    ticks = publish(client, "a.1", range(3))
    assert read(client, "n = 99", ticks[0], ticks[2], "a.1") == []
    assert read(client, "", ticks[0] + 1, ticks[0] + 2, "a.1") == []


def test_an_interval_that_was_read_is_over_at_once(client: blocking.Client) -> None:
    (tick,) = publish(client, "a.1", range(1))
    assert read(client, "", tick, tick, "a.1") == []


def test_several_readers_of_one_selector_do_not_disturb_each_other(client: blocking.Client) -> None:
    ticks = publish(client, "a.2", range(40))
    halves = [
        client.subscribe("n >= 0", start={"a.2": low}, end={"a.2": high})
        for low, high in ((ticks[0], ticks[20]), (ticks[20], ticks[39] + 1))
    ]
    for half in halves:
        half.open()
    read_back = [[message["n"] for message in half.messages(deadline_s=30)] for half in halves]
    assert read_back == [list(range(20)), list(range(20, 40))]


def test_the_streams_tell_what_can_be_read(client: blocking.Client) -> None:
    before = client.streams()
    assert set(before) == {"a.1", "a.2"}
    (tick,) = publish(client, "a.1", range(1))
    after = client.streams()["a.1"]
    assert after.broker == "a"
    assert before["a.1"].earliest == after.earliest
    assert after.head > tick
    assert after.rows_end == tick + 1


def test_a_cursor_is_moved_forward_and_deleted(client: blocking.Client) -> None:
    assert client.move_cursor("job", {"a.1": 5}) == {"a.1": 5}
    assert client.move_cursor("job", {"a.1": 3, "a.2": 1}) == {"a.1": 5, "a.2": 1}
    client.delete_cursor("job")
    assert client.move_cursor("job", {"a.1": 1}) == {"a.1": 1}
    client.delete_cursor("job")


def test_an_end_must_name_a_pubend(client: blocking.Client) -> None:
    with pytest.raises(ValueError, match="end names no pubend"):
        client.subscribe("", end={})


def test_a_durable_subscription_has_no_end(client: blocking.Client) -> None:
    subscription = client.subscribe("", durable="d", start={"a.1": 1}, end={"a.1": 2})
    with pytest.raises(penstock.SubscribeRefusedError, match="a durable subscription has no end"):
        subscription.open()


def test_an_interval_is_read_through_another_broker(start_broker) -> None:
    source = start_broker("source", 'pubends = ["p"]\n[neighbours.edge]')
    host, port = source.address
    edge = start_broker("edge", f'pubends = 0\n[neighbours.source]\naddress = "{host}:{port}"')
    with blocking.connect(url_of(source)) as here, blocking.connect(url_of(edge)) as there:
        with there.subscribe("n >= 0", start="earliest") as live:
            ticks = publish(here, "p", range(50))
            assert [live.next(deadline_s=30)["n"] for _ in range(50)] == list(range(50))
        bounds = there.streams()["p"]
        assert bounds.broker == "source"
        assert bounds.earliest <= ticks[0] < ticks[-1] < bounds.head
        assert read(there, "n < 10", ticks[0], bounds.head, "p") == list(range(10))
        # Now nobody at the edge wants live rows, and what it holds of the stream is silence.
        later = publish(here, "p", range(50, 60))
        while there.streams()["p"].head <= later[-1]:
            publish(here, "p", range(60, 61))
        for selector in ("", "n >= 0"):
            found = read(there, selector, later[0], later[-1] + 1, "p")
            assert found == list(range(50, 60))


def test_a_read_goes_on_after_the_broker_was_killed(start_broker) -> None:
    broker = start_broker("killed", 'pubends = ["p"]')
    with blocking.connect(url_of(broker)) as client:
        ticks = publish(client, "p", range(30))
        subscription = client.subscribe("", start={"p": ticks[0]}, end={"p": ticks[29] + 1})
        messages = subscription.messages(deadline_s=60)
        first = [int(next(messages)["n"]) for _ in range(5)]
        broker.kill()
        broker.start()
        assert [*first, *(int(message["n"]) for message in messages)] == list(range(30))
