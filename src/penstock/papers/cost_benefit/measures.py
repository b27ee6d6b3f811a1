"""What is measured in the runs of the cost-benefit paper.

Rates are Mbit/s of messages of 1000 bytes, at the time at which the flow control let them into the
network.  Buffers are packets of 1000 bytes that wait above what the link itself accepts.
"""

from __future__ import annotations

from typing import Final

from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Aggregate, Measurement
from penstock.lab.telemetry.curves import curve
from penstock.lab.telemetry.measure import measure

MBIT: Final = 0.008
"""Mbit/s of one message a second."""

PACKET: Final = 0.001
"""Packets of one byte."""

SETTLED_WITHIN: Final = 0.2
"""A class has adapted when it sends its share within a fifth in a second."""


def sent(
    low_s: float, high_s: float, subject: str = "", aggregate: Aggregate = "rate"
) -> Measurement:
    """What all senders, or those of a class, sent."""
    return Measurement(
        metric="sent", subject=subject, from_s=low_s, to_s=high_s, aggregate=aggregate
    )


def buffered(low_s: float, high_s: float) -> Measurement:
    """The highest buffer of any link; a record is about the second before it."""
    low_s = low_s + 0.5 if low_s else 0.0
    return Measurement(metric="most_queued_bytes", from_s=low_s, to_s=high_s, aggregate="max")


def received(low_s: float, high_s: float) -> Measurement:
    """What all members received."""
    return Measurement(metric="delivered", from_s=low_s, to_s=high_s, aggregate="rate")


def tcp(low_s: float, high_s: float) -> Measurement:
    """What the TCP connection of another program delivered, in bytes a second."""
    return Measurement(
        metric="tcp_delivered_bytes", node="run", from_s=low_s, to_s=high_s, aggregate="rate"
    )


def price_bytes(link: str) -> Measurement:
    """What the prices of a link take on another one, in bytes a second."""
    return Measurement(metric="link_price_bytes", subject=link, aggregate="rate", to_s=70)


def worst_variation(result: RunResult) -> float:
    """The larger coefficient of variation between the clients of a class, in per cent."""
    found = [measure(result, sent(10, 70, each, "variation")) for each in ("acfg", "cdg")]
    return 100 * max(found)


def adaptation_s(result: RunResult, changed_at_s: int, share_mbit_per_s: float) -> float:
    """Seconds from a change to the end of the first one in which both classes send their share."""
    end_s = result.scenario.duration_s
    one, other = (
        [MBIT * rate for _, rate in curve(result, sent(changed_at_s, end_s, each), "rate")]
        for each in ("acfg", "cdg")
    )
    for second, rates in enumerate(zip(one, other, strict=True), 1):
        if all(abs(each / share_mbit_per_s - 1) <= SETTLED_WITHIN for each in rates):
            return second
    return float("inf")


def ridden_share(result: RunResult, link: str) -> float:
    """The share of the prices sent over a link that were attached to messages."""
    rode, alone = (
        measure(result, Measurement(metric=each, subject=link, aggregate="last"))
        for each in ("prices_rode_on_data", "prices_went_alone")
    )
    return rode / (rode + alone)


def from_fair_share(result: RunResult, first: str, second: str, low_s: float) -> float:
    """The distance of each of two senders or classes from half of their sum, in per cent."""
    end_s = result.scenario.duration_s
    one, two = (measure(result, sent(low_s, end_s, each)) for each in (first, second))
    return 100 * abs(one - two) / (one + two)
