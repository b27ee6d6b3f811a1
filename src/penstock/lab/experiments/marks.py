"""The faults and changes of a scenario, as short labels at seconds: figures show them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from penstock.lab.scenario.curve import CurvePoint
from penstock.lab.scenario.model import Client, LinkChange, Scenario


class Mark(msgspec.Struct, frozen=True):
    """Something that happens at a second of the scenario."""

    at_s: float
    label: str


def marks_of(scenario: Scenario) -> tuple[Mark, ...]:
    """The marks of a scenario with single tables, in the order of time."""
    found: dict[float, dict[str, None]] = {}
    for at_s, label in _changes(scenario):
        if 0 < at_s < scenario.duration_s:
            found.setdefault(at_s, {})[label] = None
    return tuple(Mark(at_s, ", ".join(labels)) for at_s, labels in sorted(found.items()))


def _changes(scenario: Scenario) -> Iterator[tuple[float, str]]:
    for broker in scenario.brokers:
        yield broker.start_s, f"{broker.name} starts"
    for link in scenario.links:
        for change in link.changes:
            yield change.at_s, f"{'-'.join(link.between)} {_changed(change)}"
    for flow in scenario.cross_traffic:
        yield flow.start_s, f"{flow.name} starts"
    groups: dict[str, list[Client]] = {}
    for client in scenario.clients:
        groups.setdefault(client.group_of or client.name, []).append(client)
    for name, clients in groups.items():
        yield from _of_group(name, clients)
    for fault in scenario.faults:
        (kind,) = fault.kinds
        if fault.bandwidth is not None:
            yield fault.at_s, f"{fault.subject} {_bandwidth(fault.bandwidth.bytes_per_s)}"
        else:
            yield fault.at_s, f"{kind.replace('_', ' ')} {fault.subject}"


def _of_group(name: str, clients: list[Client]) -> Iterator[tuple[float, str]]:
    """Starts and stops that all clients of a table have in common, and the steps of its values."""
    starts, stops = ({getattr(each, key) for each in clients} for key in ("start_s", "stop_s"))
    if len(starts) == 1:
        yield starts.pop(), f"{name} starts"
    if len(stops) == 1 and (stop_s := stops.pop()) is not None:
        yield stop_s, f"{name} stops"
    for field in clients[0].__struct_fields__:
        value = getattr(clients[0], field)
        if isinstance(value, tuple) and all(isinstance(each, CurvePoint) for each in value):
            for point in value:
                yield point.at_s, f"{name} {field.replace('_', ' ')} {point.value:g}"


def _changed(change: LinkChange) -> str:
    parts = []
    if change.bandwidth_bytes_per_s is not None:
        parts.append(_bandwidth(change.bandwidth_bytes_per_s))
    for key, unit in (("latency_ms", "ms"), ("jitter_ms", "ms jitter")):
        if (value := getattr(change, key)) is not None:
            parts.append(f"{value:g} {unit}")
    if change.loss is not None:
        parts.append(f"loss {100 * change.loss:g} %")
    return " ".join(parts)


def _bandwidth(bytes_per_s: int) -> str:
    return f"{bytes_per_s / 1000:.3g} kB/s" if bytes_per_s else "unlimited"
