"""Converts the former form of a scenario of multicast groups.

It had links with their bandwidth in Mbit/s, the brokers at which each group had a member, and
senders that sent as much as they might, in packets of 1000 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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

PACKET_BYTES: Final = 1000
BYTES_PER_MBIT: Final = 125_000
PACKETS_PER_MBIT: Final = BYTES_PER_MBIT // PACKET_BYTES
WINDOW_BYTES: Final = 20 * PACKET_BYTES
QUEUE_BYTES: Final = 1 << 30
MBIT_PER_S: Final = 10.0
LATENCY_MS: Final = 10.0
START_SPREAD_S: Final = 1.0
DRAIN_S: Final = 60
"""Greedy senders have hundreds of messages on the way when they stop."""
TRACE_INTERVAL_S: Final = 1.0

KNOWN: Final = (
    *("service", "name", "links", "groups", "senders", "changes", "duration_s", "warm_up_s"),
    *("law", "expect", "start_spread_s", "bottleneck_receivers"),
)


def convert_multicast(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The tables in the present form; raises ``NotConvertible``."""
    only(raw, KNOWN)
    links = [_link(each, f"links[{place}].") for place, each in enumerate(listed(raw, "links"))]
    for place, change in enumerate(listed(raw, "changes")):
        _change(links, change, f"changes[{place}].")
    new = head(raw) | {"drain_s": DRAIN_S}
    if "law" in raw:
        new["parameters"] = {"multicast": {"law": raw["law"]}}
    brokers = sorted({end for link in links for end in link["between"]})
    return {
        **new,
        "brokers": [{"name": name} for name in brokers],
        "links": links,
        "clients": [*_members(raw), *_senders(raw)],
        "expect": _expectations(raw),
    }


def _link(raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    only(raw, ("ends", "mbit_per_s", "latency_ms"), where)
    latency_ms = number_of(raw, "latency_ms", LATENCY_MS)
    return {
        "between": list(needed(raw, "ends", where)),
        "bandwidth_bytes_per_s": _bytes_per_s(number_of(raw, "mbit_per_s", MBIT_PER_S)),
        "latency_ms": latency_ms,
        "cost": max(1, round(latency_ms)),
        "window_bytes": WINDOW_BYTES,
        "queue_bytes": QUEUE_BYTES,
    }


def _bytes_per_s(mbit_per_s: float) -> int:
    return round(mbit_per_s * BYTES_PER_MBIT)


def _change(links: list[dict[str, Any]], raw: Mapping[str, Any], where: str) -> None:
    only(raw, ("at_s", "ends", "mbit_per_s"), where)
    ends = set(needed(raw, "ends", where))
    for link in links:
        if set(link["between"]) == ends:
            change = {
                "at_s": needed(raw, "at_s", where),
                "bandwidth_bytes_per_s": _bytes_per_s(number_of(raw, "mbit_per_s")),
            }
            link.setdefault("changes", []).append(change)
            return
    raise NotConvertible(f"{where}ends: there is no link {' - '.join(sorted(ends))}")


def _members(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    groups = raw.get("groups", {})
    if not isinstance(groups, dict):
        raise NotConvertible("groups: expected a table, such as [groups]")
    return [
        {
            "service": "multicast",
            "role": "member",
            "name": f"{group}-{number}",
            "broker": broker,
            "group": group,
        }
        for group, brokers in groups.items()
        for number, broker in enumerate(brokers)
    ]


def _senders(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    spread_s = number_of(raw, "start_spread_s", START_SPREAD_S)
    receivers = int(number_of(raw, "bottleneck_receivers", 1))
    senders = []
    for place, each in enumerate(listed(raw, "senders")):
        where = f"senders[{place}]."
        only(each, ("name", "broker", "groups", "clients", "start_s", "weight"), where)
        sender: dict[str, Any] = {
            "service": "multicast",
            "role": "sender",
            "name": f"{needed(each, 'name', where)}-{{i}}",
            "count": int(number_of(each, "clients", 1)),
            **chosen(each, "broker", "groups", "weight", "start_s"),
            "wire_bytes": PACKET_BYTES,
        }
        if spread_s:
            sender["start_within_s"] = spread_s
        if receivers > 1:
            sender["wire_receivers"] = receivers
        senders.append(sender)
    return senders


def _expectations(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    bounds = bounds_of(raw, "total_mbit_per_s_at_least", "highest_buffer_at_most")
    from_s = number_of(raw, "warm_up_s")
    to_s = number_of(raw, "duration_s")
    expect: list[dict[str, Any]] = [{"metric": "violations", "at_most": 0}]
    if "total_mbit_per_s_at_least" in bounds:
        least = tidy(bounds["total_mbit_per_s_at_least"] * PACKETS_PER_MBIT)
        expect.append({"metric": "sent_rate", "from_s": from_s, "to_s": to_s, "at_least": least})
    if "highest_buffer_at_most" in bounds:
        most = tidy(bounds["highest_buffer_at_most"] * PACKET_BYTES)
        # A record is about the interval before it.
        since_s = tidy(from_s + TRACE_INTERVAL_S / 2)
        expect.append(
            {"metric": "most_queued_bytes", "from_s": since_s, "to_s": to_s, "at_most": most}
        )
    return expect
