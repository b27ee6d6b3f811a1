"""Converts the former form of datagram scenarios with pairs of clients that shared a bottleneck.

All publishers were at one broker.  Each had a subscriber at another one, which wanted a share of
its messages, and the bottleneck was between the two brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.lab.scenario.convert.datagram import (
    ACCESS_LATENCY_MS,
    BYTES_PER_KBIT,
    JITTER_MS,
    MESSAGE_BYTES,
    PARAMETERS,
    QUEUE_MESSAGES,
    bytes_per_s,
    parameters_of,
)
from penstock.lab.scenario.convert.parts import (
    NotConvertible,
    bounds_of,
    chosen,
    head,
    listed,
    needed,
    number_of,
    only,
    tidy,
)

NEAR: Final = "near"
FAR: Final = "far"
PUBLISHING_FROM_S: Final = 1.0
"""Publishers wait so long for their brokers to know them."""

KNOWN: Final = (
    *("service", "name", "duration_s", "pairs", "bandwidth", "tcp", "near_subscriber"),
    *("message_bytes", "queue_messages", "latency_ms", "jitter_ms", *PARAMETERS, "expect"),
)


def convert_pairs(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The tables in the present form; raises ``NotConvertible``."""
    only(raw, KNOWN)
    pairs = listed(raw, "pairs")
    subscribers = [
        _subscriber(f"subscriber-{number + 1}", FAR, number, "wanted")
        for number in range(len(pairs))
    ]
    if raw.get("near_subscriber"):
        subscribers.append(_subscriber("near-subscriber", NEAR, 0, "other"))
    new = {
        **head(raw),
        **parameters_of(raw),
        "brokers": [{"name": NEAR}, {"name": FAR}],
        "links": [_bottleneck(raw)],
        "clients": [
            *subscribers,
            *(_publisher(raw, number, pair) for number, pair in enumerate(pairs)),
        ],
    }
    if "tcp" in raw:
        new["cross_traffic"] = [
            {
                "name": "tcp",
                "between": [NEAR, FAR],
                **chosen(raw["tcp"], "start_s", "segment_bytes"),
                "access": _access(raw),
            }
        ]
    return {**new, "expect": _expectations(raw)}


def _steps(raw: Mapping[str, Any]) -> list[list[float]]:
    """Seconds and Kbit/s of the bottleneck."""
    steps = raw.get("bandwidth")
    if not isinstance(steps, list) or not steps or any(len(step) != 2 for step in steps):
        raise NotConvertible("bandwidth: expected a list of [second, Kbit/s]")
    return steps


def _bottleneck(raw: Mapping[str, Any]) -> dict[str, Any]:
    (_, first), *later = _steps(raw)
    link: dict[str, Any] = {
        "between": [NEAR, FAR],
        "bandwidth_bytes_per_s": bytes_per_s(first),
        **chosen(raw, "latency_ms"),
        "datagram_queue_messages": int(number_of(raw, "queue_messages", QUEUE_MESSAGES)),
        "datagram_bytes": int(number_of(raw, "message_bytes", MESSAGE_BYTES)),
    }
    if later:
        link["changes"] = [
            {"at_s": at_s, "bandwidth_bytes_per_s": bytes_per_s(kbps)} for at_s, kbps in later
        ]
    return link


def _access(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "latency_ms": ACCESS_LATENCY_MS,
        "jitter_ms": number_of(raw, "jitter_ms", JITTER_MS),
    }


def _subscriber(name: str, broker: str, pair: int, kind: str) -> dict[str, Any]:
    return {
        "service": "datagram",
        "role": "subscriber",
        "name": name,
        "broker": broker,
        "selector": f"pair = {pair} AND kind = '{kind}'",
    }


def _publisher(raw: Mapping[str, Any], number: int, pair: Mapping[str, Any]) -> dict[str, Any]:
    where = f"pairs[{number}]."
    only(pair, ("matching", "rate_msgs_per_s"), where)
    points = needed(pair, "rate_msgs_per_s", where)
    share = needed(pair, "matching", where)
    return {
        "service": "datagram",
        "role": "publisher",
        "name": f"publisher-{number + 1}",
        "broker": NEAR,
        "access": _access(raw),
        "attributes": {"pair": number, "kind": f"share:{share},wanted,other"},
        "message_bytes": int(number_of(raw, "message_bytes", MESSAGE_BYTES)),
        "rate_msgs_per_s": points[0][1] if len(points) == 1 else points,
    }


def _expectations(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    bounds = bounds_of(raw, "lost_messages_at_most", "utilisation_at_least")
    expect: list[dict[str, Any]] = [{"metric": "violations", "at_most": 0}]
    if "lost_messages_at_most" in bounds:
        expect.append({"metric": "lost", "at_most": bounds["lost_messages_at_most"]})
    if "utilisation_at_least" in bounds:
        least = bounds["utilisation_at_least"] * _mean_bytes_per_s(raw)
        expect.append(
            {
                "metric": "link_rate",
                "subject": f"{NEAR}->{FAR}",
                "from_s": PUBLISHING_FROM_S,
                "to_s": number_of(raw, "duration_s"),
                "at_least": tidy(least),
            }
        )
    return expect


def _mean_bytes_per_s(raw: Mapping[str, Any]) -> float:
    """The capacity of the bottleneck, averaged over the scenario."""
    duration_s = number_of(raw, "duration_s")
    steps = _steps(raw)
    ends_s = [at_s for at_s, _ in steps[1:]] + [duration_s]
    area = sum(
        kbps * max(0.0, min(end_s, duration_s) - at_s)
        for (at_s, kbps), end_s in zip(steps, ends_s, strict=True)
    )
    return area / duration_s * BYTES_PER_KBIT
