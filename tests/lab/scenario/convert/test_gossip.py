from __future__ import annotations

from typing import Any

import pytest

from penstock.core.configuration import parse_toml
from penstock.lab.scenario.convert.gossip import convert_gossip
from penstock.lab.scenario.convert.parts import NotConvertible

OLD: dict[str, Any] = {
    "service": "gossip",
    "name": "gossip",
    "purpose": "A group.",
    "peers": 30,
    "senders": 20,
    "offered_msgs_per_s": 20.0,
    "payload_bytes": 32,
    "rounds": 100,
    "warm_up_rounds": 10,
    "settle_rounds": 20,
    "loss": 0.1,
    "parameters": {"law": "paper", "gossip_period_ns": 2_000_000_000, "buffer_events": 80},
    "changes": [
        {"at_round": 10, "share": 0.5, "buffer_events": 45},
        {"at_round": 20, "share": 0.5, "buffer_events": 60},
        {"at_round": 0, "share": 0.1, "buffer_events": 10},
    ],
    "expect": {"receivers_at_least": 0.9, "input_rate_at_least": 18, "receivers_at_most": 1},
}
STAYING = {key: value for key, value in OLD.items() if key not in ("changes", "senders")}


def test_peers_are_divided_by_what_they_do() -> None:
    changes = {"changes": OLD["changes"][:2]}
    assert convert_gossip({**OLD, **changes}) == parse_toml(
        """
        name = "gossip"
        description = "A group."
        duration_s = 200
        drain_s = 0
        [parameters.gossip]
        law = "paper"
        gossip_period_ns = 2_000_000_000
        buffer_events = 80
        [peer_network]
        loss = 0.1

        [[clients]]
        service = "gossip"
        role = "peer"
        name = "p{i}"
        count = 15
        rate_msgs_per_s = 1
        payload_bytes = 32
        buffer_events = [[0, 80], [20, 45], [40, 60]]
        [[clients]]
        service = "gossip"
        role = "peer"
        name = "p{i+15}"
        count = 5
        rate_msgs_per_s = 1
        payload_bytes = 32
        [[clients]]
        service = "gossip"
        role = "peer"
        name = "p{i+20}"
        count = 10
        payload_bytes = 32

        [[expect]]
        metric = "violations"
        at_most = 0
        [[expect]]
        metric = "receivers"
        aggregate = "mean"
        from_s = 20
        to_s = 160
        at_least = 0.9
        [[expect]]
        metric = "receivers"
        aggregate = "mean"
        from_s = 20
        to_s = 160
        at_most = 1
        [[expect]]
        metric = "published_rate"
        from_s = 20
        to_s = 160
        at_least = 18
        """
    )


def test_a_buffer_that_differs_from_the_start_on_is_a_number() -> None:
    changes = {"changes": OLD["changes"][2:]}
    first, second, *_ = convert_gossip({**OLD, **changes})["clients"]
    assert (first["count"], first["buffer_events"]) == (3, 10)
    assert "buffer_events" not in second


def test_every_second_peer_that_leaves_crashes_and_as_many_join() -> None:
    churn = {"from_round": 20, "to_round": 30, "share": 0.1667}
    staying, leaving, crashing, joining = convert_gossip({**STAYING, "churn": churn})["clients"]
    assert [each["count"] for each in (staying, leaving, crashing, joining)] == [25, 3, 2, 5]
    assert (leaving["stop_s"], leaving["stop_every_s"], leaving["stops"]) == (40, 8, "leave")
    assert (crashing["stop_s"], crashing["stop_every_s"], crashing["stops"]) == (44, 8, "crash")
    assert (joining["start_s"], joining["start_every_s"]) == (40, 4)
    assert {each["rate_msgs_per_s"] for each in (staying, joining)} == {0.666666667}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rouns": 3}, "rouns: unknown key; did you mean 'rounds'?"),
        ({"live_period_s": 0.1}, "live_period_s: has no counterpart; remove it"),
        ({"churn": {}}, "churn: cannot be converted together with changes or senders"),
        ({"changes": [{"share": 0.5}]}, "changes[0].at_round: missing; add it"),
        ({"changes": [{"round": 3}]}, "changes[0].round: unknown key; did you mean 'at_round'?"),
    ],
)
def test_what_cannot_be_converted_is_told_with_its_key(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(NotConvertible) as raised:
        convert_gossip({**OLD, **changes})
    assert str(raised.value).startswith(told)


def test_a_churn_without_leavers_is_refused() -> None:
    churn = {"from_round": 20, "to_round": 30, "share": 0.0}
    with pytest.raises(NotConvertible, match=r"churn\.share: no peer leaves"):
        convert_gossip({**STAYING, "churn": churn})
