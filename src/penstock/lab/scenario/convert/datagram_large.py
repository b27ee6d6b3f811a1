"""Converts the former form of datagram scenarios with a tree of brokers and many subscribers.

The publishers were at the first end of the bottleneck; the selectors of the subscribers were drawn
at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.lab.scenario.convert.datagram import (
    ACCESS_LATENCY_MS,
    JITTER_MS,
    MESSAGE_BYTES,
    QUEUE_MESSAGES,
    bytes_per_s,
    parameters_of,
)
from penstock.lab.scenario.convert.parts import head, needed, number_of, only

KNOWN: Final = (
    *("service", "name", "duration_s", "links", "bottleneck", "bottleneck_kbps", "other_kbps"),
    *("clients_of_broker", "publishers", "publish_rate_msgs_per_s", "attributes", "values"),
    *("zipf_exponent", "constraints_weights", "law", "detection"),
)


def convert_large(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The tables in the present form; raises ``NotConvertible``."""
    only(raw, KNOWN)
    links = [list(link) for link in needed(raw, "links")]
    brokers = sorted({end for link in links for end in link})
    return {
        **head(raw),
        **parameters_of(raw),
        "brokers": [{"name": name} for name in brokers],
        "links": [_link(raw, link) for link in links],
        "clients": [*(_subscribers(raw, broker) for broker in brokers), _publishers(raw)],
        "expect": [{"metric": "violations", "at_most": 0}],
    }


def _link(raw: Mapping[str, Any], link: list[str]) -> dict[str, Any]:
    narrow = set(link) == set(needed(raw, "bottleneck"))
    kbps = number_of(raw, "bottleneck_kbps" if narrow else "other_kbps")
    return {
        "between": link,
        "bandwidth_bytes_per_s": bytes_per_s(kbps),
        "datagram_queue_messages": QUEUE_MESSAGES,
        "datagram_bytes": MESSAGE_BYTES,
    }


def _source(raw: Mapping[str, Any]) -> str:
    """The broker of the publishers."""
    return str(needed(raw, "bottleneck")[0])


def _publishers(raw: Mapping[str, Any]) -> dict[str, Any]:
    values = int(number_of(raw, "values"))
    drawn = f"zipf:{values},{number_of(raw, 'zipf_exponent')}"
    return {
        "service": "datagram",
        "role": "publisher",
        "name": "publisher-{i+1}",
        "count": int(number_of(raw, "publishers")),
        "broker": _source(raw),
        "access": {"latency_ms": ACCESS_LATENCY_MS, "jitter_ms": JITTER_MS},
        "attributes": {f"a{each}": drawn for each in range(int(number_of(raw, "attributes")))},
        "rate_msgs_per_s": number_of(raw, "publish_rate_msgs_per_s"),
    }


def _subscribers(raw: Mapping[str, Any], broker: str) -> dict[str, Any]:
    publishers = int(number_of(raw, "publishers")) if broker == _source(raw) else 0
    return {
        "service": "datagram",
        "role": "subscriber",
        "name": f"{broker}-{{i}}",
        "count": int(number_of(raw, "clients_of_broker")) - publishers,
        "broker": broker,
        "random_selector": {
            "attributes": int(number_of(raw, "attributes")),
            "values": int(number_of(raw, "values")),
            "zipf_exponent": number_of(raw, "zipf_exponent"),
            "weights": list(needed(raw, "constraints_weights")),
        },
    }
