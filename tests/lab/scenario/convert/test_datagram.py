from __future__ import annotations

from typing import Any

import pytest

from penstock.core.configuration import parse_toml
from penstock.lab.scenario.convert.datagram_large import convert_large
from penstock.lab.scenario.convert.datagram_pairs import convert_pairs
from penstock.lab.scenario.convert.parts import NotConvertible

PAIRS: dict[str, Any] = {
    "service": "datagram",
    "name": "pairs",
    "duration_s": 100.0,
    "bandwidth": [[0.0, 1000.0], [75.0, 2000.0]],
    "near_subscriber": True,
    "law": "paper",
    "detection": "record",
    "pairs": [
        {"matching": 0.4, "rate_msgs_per_s": [[0.0, 100.0]]},
        {"matching": 0.1, "rate_msgs_per_s": [[0.0, 100.0], [50.0, 200.0]]},
    ],
    "tcp": {"start_s": 30.0, "segment_bytes": 280},
    "expect": {"lost_messages_at_most": 100, "utilisation_at_least": 0.8},
}


def test_pairs_that_share_a_bottleneck() -> None:
    assert convert_pairs(PAIRS) == parse_toml(
        """
        name = "pairs"
        duration_s = 100.0
        [parameters.datagram]
        law = "paper"
        detection = "record"

        [[brokers]]
        name = "near"
        [[brokers]]
        name = "far"

        [[links]]
        between = ["near", "far"]
        bandwidth_bytes_per_s = 125_000
        datagram_queue_messages = 45
        datagram_bytes = 280
        changes = [{ at_s = 75.0, bandwidth_bytes_per_s = 250_000 }]

        [[clients]]
        service = "datagram"
        role = "subscriber"
        name = "subscriber-1"
        broker = "far"
        selector = "pair = 0 AND kind = 'wanted'"
        [[clients]]
        service = "datagram"
        role = "subscriber"
        name = "subscriber-2"
        broker = "far"
        selector = "pair = 1 AND kind = 'wanted'"
        [[clients]]
        service = "datagram"
        role = "subscriber"
        name = "near-subscriber"
        broker = "near"
        selector = "pair = 0 AND kind = 'other'"
        [[clients]]
        service = "datagram"
        role = "publisher"
        name = "publisher-1"
        broker = "near"
        access = { latency_ms = 1.0, jitter_ms = 4.0 }
        attributes = { pair = 0, kind = "share:0.4,wanted,other" }
        message_bytes = 280
        rate_msgs_per_s = 100.0
        [[clients]]
        service = "datagram"
        role = "publisher"
        name = "publisher-2"
        broker = "near"
        access = { latency_ms = 1.0, jitter_ms = 4.0 }
        attributes = { pair = 1, kind = "share:0.1,wanted,other" }
        message_bytes = 280
        rate_msgs_per_s = [[0.0, 100.0], [50.0, 200.0]]

        [[cross_traffic]]
        name = "tcp"
        between = ["near", "far"]
        start_s = 30.0
        segment_bytes = 280
        access = { latency_ms = 1.0, jitter_ms = 4.0 }

        [[expect]]
        metric = "violations"
        at_most = 0
        [[expect]]
        metric = "lost"
        at_most = 100
        [[expect]]
        metric = "link_rate"
        subject = "near->far"
        from_s = 1.0
        to_s = 100.0
        at_least = 125_000
        """
    )


LARGE: dict[str, Any] = {
    "service": "datagram",
    "name": "large",
    "duration_s": 30.0,
    "links": [["b1", "b2"], ["b2", "b3"]],
    "bottleneck": ["b1", "b2"],
    "bottleneck_kbps": 1000.0,
    "other_kbps": 10_000.0,
    "clients_of_broker": 5,
    "publishers": 2,
    "publish_rate_msgs_per_s": 2000.0,
    "attributes": 2,
    "values": 500,
    "zipf_exponent": 0.8,
    "constraints_weights": [0.25, 0.75],
}


def test_many_clients() -> None:
    new = convert_large(LARGE)
    assert [each["name"] for each in new["brokers"]] == ["b1", "b2", "b3"]
    assert [each["bandwidth_bytes_per_s"] for each in new["links"]] == [125_000, 1_250_000]
    *subscribers, publisher = new["clients"]
    assert [(each["name"], each["count"]) for each in subscribers] == [
        ("b1-{i}", 3),
        ("b2-{i}", 5),
        ("b3-{i}", 5),
    ]
    assert subscribers[0]["random_selector"] == {
        "attributes": 2,
        "values": 500,
        "zipf_exponent": 0.8,
        "weights": [0.25, 0.75],
    }
    assert publisher["count"] == 2
    assert publisher["broker"] == "b1"
    assert publisher["attributes"] == {"a0": "zipf:500,0.8", "a1": "zipf:500,0.8"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"bandwith": []}, "bandwith: unknown key; did you mean 'bandwidth'?"),
        ({"bandwidth": []}, "bandwidth: expected a list of [second, Kbit/s]"),
        ({"pairs": [{"rate_msgs_per_s": [[0, 1]]}]}, "pairs[0].matching: missing; add it"),
        ({"pairs": [{"matching": 1}]}, "pairs[0].rate_msgs_per_s: missing; add it"),
        ({"jitter_ms": "much"}, "jitter_ms: expected a number"),
    ],
)
def test_what_cannot_be_converted_is_told_with_its_key(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(NotConvertible) as raised:
        convert_pairs({**PAIRS, **changes})
    assert str(raised.value).startswith(told)


@pytest.mark.parametrize("key", sorted(LARGE.keys() - {"service"}))
def test_a_key_that_is_missing_in_the_large_form_is_named(key: str) -> None:
    raw = {name: value for name, value in LARGE.items() if name != key}
    with pytest.raises(NotConvertible, match=f"^{key}: missing; add it$"):
        convert_large(raw)
