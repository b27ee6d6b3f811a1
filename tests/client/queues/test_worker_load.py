"""The load of workers, from the status of a queue or of an alias queue."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.client.queues.worker_load import alias_load_of, destination_of, load_of
from penstock.services.queues.laws.workers import QueueLoad

RECENT_S = 5.0


def destination(address: str, told: dict[str, Any] | None, **fields: Any) -> dict[str, Any]:
    return {
        "address": address,
        "retired": False,
        "gets_nothing_because": "",
        "told": told,
        **fields,
    }


def told(messages: int, consumers: int, rate: float | None, s_ago: float = 1.0) -> dict[str, Any]:
    return {
        "s_ago": s_ago,
        "messages": messages,
        "consumers": consumers,
        "consumer_msgs_per_s": rate,
    }


def alias(*destinations: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "orders",
        "kind": "alias",
        "messages": 100,
        "received_messages": 5000,
        "destinations": list(destinations),
    }


def test_a_queue_says_its_own_load():
    status = {
        "name": "work",
        "kind": "queue",
        "messages": 3,
        "received_messages": 9,
        "consumer_msgs_per_s": 2.5,
    }
    assert load_of(status) == QueueLoad(3, 9, 2.5)


def test_an_alias_queue_has_no_load_of_its_own():
    with pytest.raises(ValueError, match=r"'orders' is an alias queue.*'orders' as the alias"):
        load_of(alias())


def test_behind_an_alias_queue_everything_that_waits_counts():
    status = alias(
        destination("work@east", told(30, 2, 10.0)), destination("work@west", told(7, 3, 20.0))
    )
    load = alias_load_of(status, "work@east", RECENT_S)
    assert load == QueueLoad(137, 5000, 10.0, others_msgs_per_s=60.0, own_messages=30)


def test_workers_without_a_rate_have_none_yet():
    status = alias(destination("work@east", told(0, 0, None)))
    assert alias_load_of(status, "work", RECENT_S) == QueueLoad(100, 5000, None)


@pytest.mark.parametrize("own", [None, told(30, 2, 10.0, s_ago=6.0)])
def test_without_recent_news_of_the_workers_queue_the_load_is_unknown(own):
    status = alias(destination("work@east", own), destination("work@west", told(7, 3, 20.0)))
    assert alias_load_of(status, "work@east", RECENT_S) is None


@pytest.mark.parametrize(
    ("other", "messages"),
    [
        (destination("work@west", None), 130),
        (destination("work@west", told(7, 3, 20.0, s_ago=6.0)), 130),
        (destination("work@west", told(7, 3, None)), 137),
        (destination("work@west", told(7, 3, 20.0), gets_nothing_because="refused: full"), 137),
    ],
)
def test_others_that_take_nothing_do_not_lessen_the_work(other, messages):
    status = alias(destination("work@east", told(30, 2, 10.0)), other)
    load = alias_load_of(status, "work@east", RECENT_S)
    assert load == QueueLoad(messages, 5000, 10.0, own_messages=30)


def test_a_destination_is_found_by_address_or_by_a_name_that_is_clear():
    status = alias(
        destination("work@east", None),
        destination("work@west", None),
        destination("rest@west", None),
        destination("old@west", None, retired=True),
    )
    assert destination_of(status, "work@west") == "work@west"
    assert destination_of(status, "rest") == "rest@west"
    with pytest.raises(ValueError, match="several destinations 'work': use work@east, work@west"):
        destination_of(status, "work")
    with pytest.raises(ValueError, match=r"'old' is not a destination of 'orders' \(it has work@"):
        destination_of(status, "old")


def test_a_queue_is_no_alias():
    with pytest.raises(ValueError, match="'work' is a queue, not an alias queue"):
        destination_of({"name": "work", "kind": "queue"}, "work")
