"""What the table of the content-aware paper measures in a run beyond single metrics.

The same in both worlds, and in scenarios that were shortened.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import curve
from penstock.lab.telemetry.measure import measure
from penstock.lab.workloads.datagram.tables import DatagramPublisher
from penstock.services.datagram.laws.max_min import max_min_shares

BUCKET_S: Final = 0.25
"""Receptions are counted in steps of this length."""

ENOUGH: Final = 0.9
"""The share of a larger capacity from which it counts as used."""

DEMANDS_MSGS_PER_S: Final = (400.0, 150.0, 150.0)
"""What the three subscribers of Figure 9 want."""


TCP_LINK_BYTES_PER_S: Final = 125_000
"""The link of Figure 10."""


def begin_s(result: RunResult) -> float:
    """When the first message may be published."""
    publishers = (each for each in result.scenario.clients if isinstance(each, DatagramPublisher))
    return min(each.start_s + each.settle_s for each in publishers)


def delivered(result: RunResult, subject: str = "") -> float:
    """Messages that arrived before the end of the scenario."""
    end_s = result.scenario.duration_s
    return measure(result, Measurement(metric="delivered", subject=subject, to_s=end_s))


def lost_at_least_one(result: RunResult) -> float:
    """Lost messages, or 1 if there are none: to divide by."""
    return max(1.0, measure(result, Measurement(metric="lost")))


# -- the first link of a scenario is its bottleneck ------------------------------------------------


def _capacities(result: RunResult) -> Iterator[tuple[float, float, int]]:
    """From when to when the bottleneck had which capacity, in bytes per second."""
    link = result.scenario.links[0]
    at_s, capacity = 0.0, link.bandwidth_bytes_per_s
    for change in link.changes:
        if change.bandwidth_bytes_per_s is not None:
            yield at_s, change.at_s, capacity
            at_s, capacity = change.at_s, change.bandwidth_bytes_per_s
    yield at_s, result.scenario.duration_s, capacity


def capacity_bytes(result: RunResult, from_s: float, to_s: float) -> float:
    """What the bottleneck could have carried in a time."""
    return sum(
        capacity * max(0.0, min(to_s, end_s) - max(from_s, start_s))
        for start_s, end_s, capacity in _capacities(result)
    )


def carried(result: RunResult, from_s: float | None = None, to_s: float | None = None) -> float:
    """The part of its capacity that the bottleneck carried, with TCP; by default from the first
    message to the end."""
    low_s = begin_s(result) if from_s is None else from_s
    high_s = result.scenario.duration_s if to_s is None else to_s
    subject = "->".join(result.scenario.links[0].between)
    window = Measurement(metric="link_bytes", subject=subject, from_s=low_s, to_s=high_s)
    return measure(result, window) / capacity_bytes(result, low_s, high_s)


def delivered_part(result: RunResult) -> float:
    """The part of the bottleneck's capacity that arrived at the subscribers."""
    could = capacity_bytes(result, begin_s(result), result.scenario.duration_s)
    return delivered(result) * result.scenario.links[0].datagram_bytes / could


def adaptation_s(result: RunResult) -> float:
    """The longest time until nine tenths of a larger capacity were used."""
    received = curve(result, Measurement(metric="delivered"), "rate", BUCKET_S)
    longest_s, before = 0.0, 0
    for start_s, _, capacity in _capacities(result):
        if before and capacity > before:
            enough = ENOUGH * capacity / result.scenario.links[0].datagram_bytes
            later = [rate for at_s, rate in received if at_s >= start_s - BUCKET_S / 2]
            reached = next((at for at, rate in enumerate(later) if rate >= enough), len(later))
            longest_s = max(longest_s, (reached + 1) * BUCKET_S)
        before = capacity
    return longest_s


# -- shares ----------------------------------------------------------------------------------------


def pair_rates(from_s: float, to_s: float) -> tuple[Measurement, ...]:
    """The rates that the three subscribers of Figure 9 received."""
    return tuple(
        Measurement(metric="delivered_rate", subject=f"subscriber-{pair}", from_s=from_s, to_s=to_s)
        for pair in range(1, len(DEMANDS_MSGS_PER_S) + 1)
    )


def tcp_rate(from_s: float, to_s: float) -> Measurement:
    """The rate of the TCP connection, with headers."""
    return Measurement(
        metric="tcp_delivered_bytes", node="run", from_s=from_s, to_s=to_s, aggregate="rate"
    )


def unfairness(result: RunResult, from_s: float, to_s: float) -> float:
    """The distance, in per cent, of the worst flow from its max-min share.

    The shared capacity is what the link carries in messages of full size, or what it has carried if
    that is more: on a real link the messages of an uncontrolled flow have no tag and are a tenth
    smaller.
    """
    rates = [measure(result, each) for each in pair_rates(from_s, to_s)]
    could = capacity_bytes(result, from_s, to_s) / (to_s - from_s)
    capacity = max(could / result.scenario.links[0].datagram_bytes, sum(rates))
    shares = max_min_shares(capacity, DEMANDS_MSGS_PER_S, [1.0] * len(rates))
    return 100 * max(abs(rate - share) / share for rate, share in zip(rates, shares, strict=True))


def lost_part(result: RunResult, subject: str, from_s: float) -> float:
    """The share of the wanted messages of some subscribers that were lost."""
    lost, wanted = (
        measure(result, Measurement(metric=metric, subject=subject, from_s=from_s))
        for metric in ("lost", "wanted")
    )
    return lost / max(1.0, wanted)


def jain_index(result: RunResult, prefixes: tuple[str, ...], count: int, from_s: float) -> float:
    """Jain's index of the rates of subscribers that are named by a prefix and a number."""
    rates = [
        measure(
            result,
            Measurement(
                metric="delivered_rate",
                subject=f"{prefix}{number}",
                from_s=from_s,
                to_s=result.scenario.duration_s,
            ),
        )
        for prefix in prefixes
        for number in range(count)
    ]
    squares = len(rates) * sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / squares if squares else 0.0
