"""The asyncio client against a real broker."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

import penstock
from penstock.client.client import Client, ClientOptions
from penstock.content.rows.batch import Batch

DEADLINE_S = 20.0
"""Longer than anything takes on a busy machine; only a failing test waits for it."""


@pytest.fixture
async def client(url: str) -> AsyncIterator[Client]:
    async with penstock.connect(url, deadline_s=DEADLINE_S) as connected:
        yield connected


async def take(subscription: penstock.Subscription, count: int) -> list[penstock.Message]:
    return [await subscription.next(deadline_s=DEADLINE_S) for _ in range(count)]


# -- connecting -----------------------------------------------------------------------------


async def test_a_client_can_be_awaited_and_closed(url: str) -> None:
    client = await penstock.connect(url, name="tester")
    assert client.connected
    assert client.name == "tester"
    await client.close()
    assert not client.connected
    await client.close()


async def test_the_environment_says_where(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_URL", url)
    async with penstock.connect() as client:
        assert client.connected


async def test_a_client_that_is_not_connected_says_what_to_write(url: str) -> None:
    client = penstock.connect(url)
    with pytest.raises(penstock.Disconnected, match="async with"):
        await client.publish()
    with pytest.raises(penstock.Disconnected, match="async with"):
        await client.status()
    await client.close()


async def test_a_closed_client_refuses_at_once(url: str) -> None:
    async with penstock.connect(url) as client:
        publisher = client.publisher()
    with pytest.raises(penstock.Disconnected, match="was closed"):
        await client.publish({}, b"")
    with pytest.raises(penstock.Disconnected, match="was closed"):
        publisher.try_publish({}, b"")
    with pytest.raises(penstock.Disconnected, match="was closed"):
        await client.subscribe().open()
    with pytest.raises(penstock.Disconnected, match="was closed"):
        await client.status()


# -- publishing -----------------------------------------------------------------------------


async def test_a_receipt_says_where_the_message_stands(client: Client) -> None:
    first = await client.publish({"topic": "receipts"}, b"1")
    second = await client.publish({"topic": "receipts"}, b"2")
    assert first.pubend == second.pubend
    assert first.tick is not None
    assert second.tick is not None
    assert first.tick < second.tick
    assert (first.sequence, second.sequence) == (0, 1)


async def test_what_is_published_is_received(client: Client) -> None:
    attributes = {"topic": "types", "i": -5, "f": 2.5, "s": "ü", "b": True, "raw": b"\x00\xff"}
    async with client.subscribe("topic = 'types'") as subscription:
        receipt = await client.publish(attributes, b"payload")
        message = await subscription.next(deadline_s=DEADLINE_S)
    assert message.attributes == attributes
    assert message.payload == b"payload"
    assert (message.pubend, message.tick) == (receipt.pubend, receipt.tick)
    assert abs(datetime.now(UTC) - message.time) < timedelta(minutes=5)


async def test_many_at_once_share_batches_and_keep_their_order(client: Client) -> None:
    async with client.subscribe("topic = 'many'") as subscription, client.publisher() as publisher:
        assert publisher.pubend in ("a.1", "a.2")
        publications = [await publisher.send({"topic": "many", "n": n}) for n in range(3000)]
        receipts = await publisher.flush()
        assert all(publication.settled for publication in publications)
        assert (await publications[1234]).sequence == 1234
        assert 0 < len(receipts) < 3000
        assert publisher.unconfirmed_bytes == 0
        assert [m["n"] for m in await take(subscription, 3000)] == list(range(3000))


async def test_batches_are_published_and_received_as_batches(client: Client) -> None:
    rows = [({"topic": "batches", "n": n}, b"x") for n in range(1000)]
    async with client.subscribe("topic = 'batches'") as subscription:
        receipts = await client.publish_batch(rows)
        receipts += await client.publish_batch(Batch.from_rows(rows[:10]))
        assert [receipt.count for receipt in receipts] == [512, 488, 10]
        assert await client.publish_batch([]) == []
        numbers: list[object] = []
        async for batch in subscription.batches(deadline_s=DEADLINE_S):
            numbers += batch.column("n")
            if len(numbers) == 1010:
                break
        assert numbers == [*range(1000), *range(10)]


async def test_a_message_that_cannot_travel_fails_alone(client: Client) -> None:
    async with client.publisher() as publisher:
        good = [await publisher.send({"n": 1}), await publisher.send({"n": 2})]
        bad = await publisher.send({"n": object()})  # type: ignore[dict-item]
        good.append(await publisher.send({"n": 3}))
        assert [(await each).sequence for each in good] == [0, 1, 2]
        with pytest.raises(penstock.InvalidAttribute, match="object"):
            await bad
        with pytest.raises(penstock.InvalidAttribute, match="object"):
            await publisher.flush()
        await publisher.flush()


async def test_an_invalid_row_of_a_batch_stops_the_whole_batch(client: Client) -> None:
    with pytest.raises(penstock.InvalidAttribute):
        await client.publish_batch([({"n": 1}, b""), ({"n": []}, b"")])  # type: ignore[dict-item]


async def test_a_failure_that_nobody_waited_for_is_raised_by_closing(url: str) -> None:
    client = await penstock.connect(url)
    assert client.try_publish({"n": object()}) is not None  # type: ignore[dict-item]
    with pytest.raises(penstock.InvalidAttribute):
        await client.close()
    assert not client.connected


async def test_an_error_in_the_block_is_not_hidden_by_one_of_closing(url: str) -> None:
    async def fail() -> None:
        async with penstock.connect(url) as client:
            assert client.try_publish({"n": object()}) is not None  # type: ignore[dict-item]
            raise LookupError

    with pytest.raises(LookupError):
        await fail()


async def test_what_the_broker_refuses_is_told_with_its_reason(client: Client) -> None:
    with pytest.raises(penstock.PublishRefusedError, match=r"hosts no pubend 'z'.*a\.1"):
        await client.publisher(pubend="z").open()
    async with client.publisher(pubend="a.2") as publisher:
        assert publisher.pubend == "a.2"
        with pytest.raises(penstock.PublishRefusedError, match="max_name_bytes") as raised:
            await publisher.publish({"n" * 2000: 1})
        assert raised.value.pubend == "a.2"
        assert (await publisher.publish({"n": 1})).tick is not None


async def test_a_message_that_is_too_large_is_refused_here(url: str) -> None:
    options = ClientOptions(publish=penstock.PublishLimits(message_bytes=1000))
    async with penstock.connect(url, options=options) as client:
        with pytest.raises(penstock.MessageTooLarge, match="message_bytes"):
            await client.publish({}, b"x" * 2000)


async def test_a_full_window_makes_publishing_wait_and_trying_fail(client: Client) -> None:
    publisher = client.publisher(limits=penstock.PublishLimits(window_bytes=1))
    first = publisher.try_publish({"n": 1})
    assert first is not None
    assert publisher.try_publish({"n": 2}) is None
    waiting = [asyncio.create_task(publisher.publish({"n": n})) for n in range(2, 6)]
    receipts = await asyncio.gather(*waiting)
    assert [(await first).sequence, *(each.sequence for each in receipts)] == [0, 1, 2, 3, 4]


async def test_whoever_gives_up_waiting_for_room_does_not_stop_the_others(client: Client) -> None:
    publisher = client.publisher(limits=penstock.PublishLimits(window_bytes=1))
    first = publisher.try_publish({})
    impatient = asyncio.create_task(publisher.publish({}, deadline_s=0))
    patient = asyncio.create_task(publisher.publish({}))
    with pytest.raises(penstock.DeadlineExceeded, match="there was no room") as raised:
        await impatient
    assert not raised.value.accepted
    assert (await patient).sequence == 1
    assert first is not None
    assert first.settled


async def test_a_deadline_names_what_was_waited_for(client: Client) -> None:
    with pytest.raises(penstock.DeadlineExceeded, match=r"no receipt.*connected to.*'a'") as raised:
        await client.publish({}, deadline_s=0)
    assert raised.value.accepted


async def test_a_named_publisher_goes_on_numbering(url: str) -> None:
    for expected in (0, 3):
        async with (
            penstock.connect(url) as client,
            client.publisher("counting", pubend="a.1") as publisher,
        ):
            assert publisher.next_sequence == expected
            assert (await publisher.publish_batch([({}, b"")] * 3))[0].first_sequence == expected


async def test_the_same_numbers_are_stored_once(client: Client) -> None:
    async with client.subscribe("topic = 'idempotent'") as subscription:
        for count in (2, 4):
            publisher = client.publisher("rerun", pubend="a.1", first_sequence=0)
            for n in range(count):
                await publisher.send({"topic": "idempotent", "n": n})
            await publisher.close()
        assert [m["n"] for m in await take(subscription, 4)] == [0, 1, 2, 3]
        with pytest.raises(penstock.DeadlineExceeded):
            await subscription.next(deadline_s=0)


async def test_two_publishers_of_one_name_are_refused(client: Client) -> None:
    client.publisher("twice")
    with pytest.raises(ValueError, match="publisher twice"):
        client.publisher("twice")


async def test_a_closed_publisher_takes_nothing(client: Client) -> None:
    async with client.publisher() as publisher:
        await publisher.send({})
    with pytest.raises(penstock.Disconnected, match="was closed"):
        await publisher.send({})


# -- subscribing ----------------------------------------------------------------------------


async def test_a_loop_over_a_subscription_opens_and_closes_it(client: Client) -> None:
    await client.publish({"topic": "loop", "n": 1})
    await client.publish({"topic": "loop", "n": 2})
    seen = []
    messages = client.subscribe("topic = 'loop'", start="earliest").messages(deadline_s=DEADLINE_S)
    async for message in messages:
        seen.append(message["n"])
        if len(seen) == 2:
            break
    assert seen == [1, 2]
    await messages.aclose()  # type: ignore[attr-defined]
    assert (await client.status())["services"]["guaranteed"]["subscriptions"] == []


async def test_a_loop_that_was_left_goes_on_where_it_stopped(client: Client) -> None:
    async with client.subscribe("topic = 'left'") as subscription:
        await client.publish_batch([({"topic": "left", "n": n}, b"") for n in range(6)])
        seen = []
        for _ in range(3):
            async for message in subscription:
                seen.append(message["n"])
                if len(seen) % 2 == 0:
                    break
        assert seen == [0, 1, 2, 3, 4, 5]


async def test_closing_ends_the_loop(client: Client) -> None:
    subscription = client.subscribe("topic = 'ended'")
    await subscription.open()

    async def read() -> list[penstock.Message]:
        return [message async for message in subscription]

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    await subscription.close()
    assert await reading == []
    with pytest.raises(penstock.Disconnected, match="is closed"):
        await subscription.next_batch()


async def test_a_start_in_the_past(client: Client) -> None:
    first = await client.publish({"topic": "past", "n": 1})
    second = await client.publish({"topic": "past", "n": 2})
    assert first.tick is not None
    assert second.tick is not None
    between = datetime.fromtimestamp(first.tick / 1e9, UTC) + timedelta(microseconds=10)
    positions = {first.pubend: first.tick + 1}
    for start, expected in (("earliest", 1), (between, 2), (positions, 2)):
        async with client.subscribe("topic = 'past'", start=start) as subscription:  # type: ignore[arg-type]
            assert (await subscription.next(deadline_s=DEADLINE_S))["n"] == expected


async def test_positions_are_a_start(client: Client) -> None:
    async with client.subscribe("topic = 'handover'") as subscription:
        await client.publish_batch([({"topic": "handover", "n": n}, b"") for n in range(10)])
        await take(subscription, 4)
        await subscription.next(deadline_s=DEADLINE_S)
        positions = subscription.positions
    async with client.subscribe("topic = 'handover'", start=positions) as subscription:
        assert [m["n"] for m in await take(subscription, 6)] == [4, 5, 6, 7, 8, 9]


async def test_a_refused_subscription_names_the_mistake(client: Client) -> None:
    with pytest.raises(penstock.SubscribeRefusedError, match="column 8"):
        await client.subscribe("topic ==== 'a'").open()
    with pytest.raises(penstock.SubscribeRefusedError):
        async for _ in client.subscribe("topic ===="):
            pass


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"ack": "sometimes"}, "'auto', 'explicit'"),
        ({"on_loss": "ignore"}, "'raise', 'skip'"),
        ({"start": "yesterday"}, "earliest"),
        ({"window_bytes": 0}, "positive"),
        ({"max_unacknowledged": -1}, "positive"),
        ({"durable": ""}, "cannot be empty"),
    ],
)
async def test_what_cannot_be_meant_is_refused(
    client: Client, arguments: dict[str, object], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        client.subscribe(**arguments)  # type: ignore[arg-type]


async def test_a_durable_subscription_goes_on_behind_what_was_acknowledged(url: str) -> None:
    for expected in (range(3), range(3, 6)):
        async with (
            penstock.connect(url, deadline_s=DEADLINE_S) as client,
            client.subscribe("topic = 'work'", durable="worker", ack="explicit") as subscription,
        ):
            if expected.start == 0:
                await client.publish_batch([({"topic": "work", "n": n}, b"") for n in range(6)])
            messages = await take(subscription, 3)
            assert [message["n"] for message in messages] == list(expected)
            for message in reversed(messages):
                async with message.process():
                    pass
            assert subscription.unacknowledged <= 3
    async with penstock.connect(url) as client:
        await client.delete_subscription("worker")
        async with client.subscribe("topic = 'work'", durable="worker") as subscription:
            with pytest.raises(penstock.DeadlineExceeded, match="no message came"):
                await subscription.next(deadline_s=0)
        await client.delete_subscription("worker")


async def test_the_message_in_hand_when_a_loop_breaks_off_comes_again(client: Client) -> None:
    rows = [({"topic": "break", "n": n}, b"") for n in (1, 2, 3)]
    for publish, expected in ((rows, [1, 2]), ([], [2, 3]), ([], [3])):
        async with client.subscribe("topic = 'break'", durable="breaker") as subscription:
            await client.publish_batch(publish)
            seen = []
            async for message in subscription.messages(deadline_s=DEADLINE_S):
                seen.append(message["n"])
                if seen == expected:
                    break
    await client.delete_subscription("breaker")


async def test_whoever_acknowledges_nothing_waits_with_a_warning(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async with client.subscribe(
        "topic = 'slow'", ack="explicit", max_unacknowledged=1
    ) as subscription:
        for n in range(2):
            await client.publish({"topic": "slow", "n": n})
        first = await subscription.next(deadline_s=DEADLINE_S)
        waiting = asyncio.create_task(subscription.next(deadline_s=DEADLINE_S))
        for _ in range(5):
            await asyncio.sleep(0)
        assert "max_unacknowledged" in caplog.text
        assert not waiting.done()
        first.ack()
        assert (await waiting)["n"] == 1


async def test_a_durable_name_belongs_to_whoever_came_last(url: str) -> None:
    async with penstock.connect(url) as first, penstock.connect(url) as second:
        taken = first.subscribe(durable="shared")
        await taken.open()
        async with second.subscribe(durable="shared"):
            with pytest.raises(penstock.Disconnected, match="taken over"):
                await taken.next(deadline_s=DEADLINE_S)
            assert (await first.status())["sessions"] == 2
        await second.delete_subscription("shared")


# -- asking the broker ----------------------------------------------------------------------


async def test_the_broker_gives_its_account(client: Client) -> None:
    status = await client.status()
    assert status["name"] == "a"
    with pytest.raises(penstock.PenstockError, match="nowhere"):
        await client.control_link("nowhere", cut=True)


async def test_the_broker_says_what_slows_a_pubend_down(client: Client) -> None:
    assert isinstance(await client.why("a.1"), dict)
    with pytest.raises(penstock.PenstockError, match="knows no 'z': its pubends are"):
        await client.why("z")


async def test_a_question_has_a_deadline_too(client: Client) -> None:
    with pytest.raises(penstock.DeadlineExceeded, match="StatusRequest"):
        await client.status(deadline_s=0)
    assert (await client.status(deadline_s=math.inf))["name"] == "a"
