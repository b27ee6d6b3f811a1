"""What a test sees of streams and queues."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

import penstock.testing
from penstock.services.queues.messages import QueueAnswer
from penstock.testing.errors import BrokerMisused
from penstock.testing.inspection import PublishedMessage, QueueState, queue_state


async def test_streams_are_read_by_name_or_together() -> None:
    async with (
        penstock.testing.broker(pubends=["east", "west"]) as broker,
        broker.connect() as client,
        client.publisher(pubend="east") as east,
        client.publisher(pubend="west") as west,
    ):
        await east.publish({"number": 1}, b"one")
        await west.publish({"number": 2}, b"two")
        await east.publish_batch([({"number": 3}, b"three"), ({"other": 4}, b"four")])
        published = broker.published()
        assert [message.payload for message in published] == [b"one", b"two", b"three", b"four"]
        assert [message.tick for message in published] == sorted(each.tick for each in published)
        assert [each.attributes for each in broker.published("west")] == [{"number": 2}]
        with pytest.raises(BrokerMisused, match=r"'north' .there are: east, west"):
            broker.published("north")


def test_a_tick_is_a_time_of_day() -> None:
    message = PublishedMessage("a", 1_700_000_000 * 10**9, {"number": 1}, b"")
    assert message.published_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert message["number"] == 1


def test_a_queue_is_what_its_status_says() -> None:
    document = {"queues": [{"waiting": 3, "held": 2, "consumers": 1, "dead_messages": 4}]}
    answer = QueueAnswer(msgspec.json.encode(document))
    assert queue_state(answer, "orders") == QueueState("orders", 3, 2, 1, dead=4, expired=0)


def test_a_queue_that_does_not_exist() -> None:
    with pytest.raises(BrokerMisused, match="no such thing; name it in queues="):
        queue_state(QueueAnswer(b"{}", problem="no such thing"), "orders")
