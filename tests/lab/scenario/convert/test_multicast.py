from __future__ import annotations

from typing import Any

import pytest

from penstock.core.configuration import parse_toml
from penstock.lab.scenario.convert.multicast import convert_multicast
from penstock.lab.scenario.convert.parts import NotConvertible

OLD: dict[str, Any] = {
    "service": "multicast",
    "name": "scenario 2",
    "duration_s": 70.0,
    "warm_up_s": 10.0,
    "law": "paper",
    "links": [
        {"ends": ["A", "B"], "latency_ms": 15.0},
        {"ends": ["B", "C"], "mbit_per_s": 2.0},
    ],
    "groups": {"bc": ["B", "C"]},
    "senders": [
        {"name": "first", "broker": "A", "groups": ["bc"], "clients": 20},
        {"name": "second", "broker": "A", "groups": ["bc"], "start_s": 5, "weight": 2.0},
    ],
    "changes": [{"at_s": 50.0, "ends": ["C", "B"], "mbit_per_s": 1.0}],
    "bottleneck_receivers": 2,
    "expect": {"total_mbit_per_s_at_least": 1.98, "highest_buffer_at_most": 55},
}


def test_a_scenario_of_groups() -> None:
    assert convert_multicast(OLD) == parse_toml(
        """
        name = "scenario-2"
        description = "scenario 2"
        duration_s = 70.0
        drain_s = 60
        [parameters.multicast]
        law = "paper"

        [[brokers]]
        name = "A"
        [[brokers]]
        name = "B"
        [[brokers]]
        name = "C"

        [[links]]
        between = ["A", "B"]
        bandwidth_bytes_per_s = 1_250_000
        latency_ms = 15.0
        cost = 15
        window_bytes = 20_000
        queue_bytes = 1_073_741_824
        [[links]]
        between = ["B", "C"]
        bandwidth_bytes_per_s = 250_000
        latency_ms = 10.0
        cost = 10
        window_bytes = 20_000
        queue_bytes = 1_073_741_824
        changes = [{ at_s = 50.0, bandwidth_bytes_per_s = 125_000 }]

        [[clients]]
        service = "multicast"
        role = "member"
        name = "bc-0"
        broker = "B"
        group = "bc"
        [[clients]]
        service = "multicast"
        role = "member"
        name = "bc-1"
        broker = "C"
        group = "bc"
        [[clients]]
        service = "multicast"
        role = "sender"
        name = "first-{i}"
        count = 20
        broker = "A"
        groups = ["bc"]
        wire_bytes = 1000
        start_within_s = 1.0
        wire_receivers = 2
        [[clients]]
        service = "multicast"
        role = "sender"
        name = "second-{i}"
        count = 1
        broker = "A"
        groups = ["bc"]
        weight = 2.0
        start_s = 5
        wire_bytes = 1000
        start_within_s = 1.0
        wire_receivers = 2

        [[expect]]
        metric = "violations"
        at_most = 0
        [[expect]]
        metric = "sent_rate"
        from_s = 10.0
        to_s = 70.0
        at_least = 247.5
        [[expect]]
        metric = "most_queued_bytes"
        from_s = 10.5
        to_s = 70.0
        at_most = 55_000
        """
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"link": []}, "link: unknown key; did you mean 'links'?"),
        ({"links": [{"end": ["A", "B"]}]}, "links[0].end: unknown key; did you mean 'ends'?"),
        ({"links": [{}]}, "links[0].ends: missing; add it"),
        ({"groups": ["A"]}, "groups: expected a table"),
        (
            {"changes": [{"at_s": 1, "ends": ["A", "C"], "mbit_per_s": 1}]},
            "changes[0].ends: there is no link A - C",
        ),
    ],
)
def test_what_cannot_be_converted_is_told_with_its_key(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(NotConvertible) as raised:
        convert_multicast({**OLD, **changes})
    assert str(raised.value).startswith(told)
