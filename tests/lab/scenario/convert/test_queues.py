from __future__ import annotations

from typing import Any

import pytest

from penstock.core.configuration import parse_toml
from penstock.lab.scenario.convert.parts import NotConvertible
from penstock.lab.scenario.convert.queues import convert_queues

OLD: dict[str, Any] = {
    "service": "queues",
    "name": "70/30 inverted",
    "messages": 10_000,
    "payload_bytes": 1000,
    "production_msgs_per_s": 2000.0,
    "alias_queues": 2,
    "consumer_shares": [0.7, 0.3],
    "inverted_at_s": 2.5,
    "give_up_s": 9.0,
    "law": "paper",
    "first_period_s": 0.5,
    "expect": {"total_s_at_most": 5.5, "highest_load_at_most": 1000},
}


def test_a_scenario_of_queues() -> None:
    assert convert_queues(OLD) == parse_toml(
        """
        name = "70-30-inverted"
        description = "70/30 inverted"
        duration_s = 9
        drain_s = 3

        [[brokers]]
        name = "east"
        queues.work-east = {}
        [[brokers]]
        name = "west"
        queues.work-west = {}
        [[brokers]]
        name = "home-{i+1}"
        count = 2
        [brokers.aliases.orders]
        destinations = ["work-east@east", "work-west@west"]
        law = "paper"
        first_period_ns = 500_000_000

        [[links]]
        between = ["home-{i+1}", "east"]
        count = 2
        [[links]]
        between = ["home-{i+1}", "west"]
        count = 2

        [[clients]]
        service = "queues"
        role = "consumer"
        name = "worker-east"
        broker = "east"
        queue = "work-east"
        rate_msgs_per_s = [[0, 1400], [5.5, 600]]
        prefetch = 200
        [[clients]]
        service = "queues"
        role = "consumer"
        name = "worker-west"
        broker = "west"
        queue = "work-west"
        rate_msgs_per_s = [[0, 600], [5.5, 1400]]
        prefetch = 200
        [[clients]]
        service = "queues"
        role = "producer"
        name = "producer-{i+1}"
        count = 2
        broker = "home-{i+1}"
        queue = "orders"
        rate_msgs_per_s = 1000
        messages = 5000
        batch_rows = 100
        jitter_ms = 5
        payload_bytes = 1000
        start_s = 3

        [[expect]]
        metric = "violations"
        at_most = 0
        [[expect]]
        metric = "consumed"
        aggregate = "last_at_s"
        at_most = 8.5
        [[expect]]
        metric = "queue_messages"
        subject = "work-east"
        at_most = 1000
        [[expect]]
        metric = "queue_messages"
        subject = "work-west"
        at_most = 1000
        """
    )


def test_rates_that_stay_are_numbers() -> None:
    clients = convert_queues({k: v for k, v in OLD.items() if k != "inverted_at_s"})["clients"]
    assert [each["rate_msgs_per_s"] for each in clients] == [1400, 600, 1000]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"mesages": 1}, "mesages: unknown key; did you mean 'messages'?"),
        ({"messages": "many"}, "messages: expected a number, got 'many'"),
        ({"consumer_shares": [1.0]}, "consumer_shares: expected a list of two numbers"),
        ({"give_up_s": 5}, "give_up_s: must be later than the end of the production"),
        ({"expect": {"total_s": 5}}, "expect.total_s: unknown key; did you mean"),
        ({"expect": 5}, "expect: expected a table, such as [expect]"),
    ],
)
def test_what_cannot_be_converted_is_told_with_its_key(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(NotConvertible) as raised:
        convert_queues({**OLD, **changes})
    assert str(raised.value).startswith(told)
