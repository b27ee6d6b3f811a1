"""Converts the former form of a scenario of queues.

It had one producer for each alias queue, each at a broker of its own, and two queues with one
consumer each, at two more brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.core.clock import seconds
from penstock.lab.scenario.convert.parts import (
    NotConvertible,
    bounds_of,
    chosen,
    head,
    number_of,
    only,
    tidy,
)

SITES: Final = ("east", "west")
BATCH_ROWS: Final = 100
PREFETCH: Final = 200
JITTER_MS: Final = 5

START_S: Final = 3
"""The brokers found each other before the first message."""
LATE_S: Final = 1
"""The last messages may be late by their jitter."""

KNOWN: Final = (
    *("service", "name", "messages", "payload_bytes", "production_msgs_per_s", "alias_queues"),
    *("consumer_shares", "inverted_at_s", "give_up_s", "balancing", "law", "first_period_s"),
    "expect",
)


def convert_queues(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The tables in the present form; raises ``NotConvertible``."""
    only(raw, KNOWN)
    homes = int(number_of(raw, "alias_queues"))
    messages = int(number_of(raw, "messages"))
    rate = number_of(raw, "production_msgs_per_s")
    production_s = messages / rate
    drain_s = number_of(raw, "give_up_s") - production_s - LATE_S
    if drain_s <= 0:
        raise NotConvertible("give_up_s: must be later than the end of the production")
    sites: list[dict[str, Any]] = [{"name": site, "queues": {f"work-{site}": {}}} for site in SITES]
    return {
        **head(raw, tidy(START_S + production_s + LATE_S)),
        "drain_s": tidy(drain_s),
        "brokers": [*sites, {"name": "home-{i+1}", "count": homes, "aliases": _aliases(raw)}],
        "links": [{"between": ["home-{i+1}", site], "count": homes} for site in SITES],
        "clients": [
            *(_consumer(raw, number, rate) for number in range(len(SITES))),
            {
                "service": "queues",
                "role": "producer",
                "name": "producer-{i+1}",
                "count": homes,
                "broker": "home-{i+1}",
                "queue": "orders",
                "rate_msgs_per_s": tidy(rate / homes),
                "messages": messages // homes,
                "batch_rows": BATCH_ROWS,
                "jitter_ms": JITTER_MS,
                "payload_bytes": int(number_of(raw, "payload_bytes")),
                "start_s": START_S,
            },
        ],
        "expect": list(_expectations(raw)),
    }


def _aliases(raw: Mapping[str, Any]) -> dict[str, Any]:
    alias = {
        "destinations": [f"work-{site}@{site}" for site in SITES],
        **chosen(raw, "balancing", "law"),
    }
    if "first_period_s" in raw:
        alias["first_period_ns"] = seconds(number_of(raw, "first_period_s"))
    return {"orders": alias}


def _consumer(raw: Mapping[str, Any], number: int, rate: float) -> dict[str, Any]:
    shares = raw.get("consumer_shares")
    if not isinstance(shares, list) or len(shares) != len(SITES):
        raise NotConvertible("consumer_shares: expected a list of two numbers")
    own, other = shares[number], shares[1 - number]
    pace: Any = tidy(rate * own)
    if "inverted_at_s" in raw:
        at_s = tidy(START_S + number_of(raw, "inverted_at_s"))
        pace = [[0, pace], [at_s, tidy(rate * other)]]
    site = SITES[number]
    return {
        "service": "queues",
        "role": "consumer",
        "name": f"worker-{site}",
        "broker": site,
        "queue": f"work-{site}",
        "rate_msgs_per_s": pace,
        "prefetch": PREFETCH,
    }


def _expectations(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    bounds = bounds_of(raw, "total_s_at_most", "total_s_at_least", "highest_load_at_most")
    expect: list[dict[str, Any]] = [{"metric": "violations", "at_most": 0}]
    for key in ("at_most", "at_least"):
        if f"total_s_{key}" in bounds:
            total_s = tidy(START_S + bounds[f"total_s_{key}"])
            expect.append({"metric": "consumed", "aggregate": "last_at_s", key: total_s})
    if "highest_load_at_most" in bounds:
        expect += (
            {
                "metric": "queue_messages",
                "subject": f"work-{site}",
                "at_most": bounds["highest_load_at_most"],
            }
            for site in SITES
        )
    return expect
