"""The experiments of the cost-benefit paper as scenario files.

A file defines the linked brokers, the groups and their members, the senders, and the changes with
their times.  The law is chosen separately, so that both meet the same load; the same file runs with
the broker machines, with arrays (arrays.py) and as processes.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Literal

import msgspec

from penstock.services.multicast.parameters import Law

Positive = Annotated[int, msgspec.Meta(gt=0)]
PositiveNumber = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]

PACKET_BYTES = 1000
"""Size of messages on the wire, headers included."""

UNACKNOWLEDGED_PACKETS = 20
"""Packets that a link accepts before any wait in the overlay's buffer."""


class LinkPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A link between two brokers."""

    ends: tuple[str, str]
    mbit_per_s: PositiveNumber = 10.0
    latency_ms: PositiveNumber = 10.0

    @property
    def packets_per_s(self) -> float:
        """Its capacity in packets."""
        return self.mbit_per_s * 1e6 / 8 / PACKET_BYTES

    @property
    def cost(self) -> int:
        """Its cost on a path: its latency in milliseconds, at least 1."""
        return max(1, round(self.latency_ms))


class SenderPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Clients that send as much as they may to the same groups."""

    name: str
    broker: str
    groups: tuple[str, ...]
    clients: Positive = 1
    start_s: NotNegative = 0.0
    weight: PositiveNumber = 1.0


class ChangePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of a link's bandwidth."""

    at_s: PositiveNumber
    ends: tuple[str, str]
    mbit_per_s: PositiveNumber


class Expectations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds on the result; None means no bound."""

    total_mbit_per_s_at_least: float | None = None
    highest_buffer_at_most: float | None = None


class MulticastScenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One experiment."""

    service: Literal["multicast"]
    name: str
    links: tuple[LinkPlan, ...]
    groups: dict[str, tuple[str, ...]]
    """The brokers at which each group has a member."""
    senders: tuple[SenderPlan, ...]
    changes: tuple[ChangePlan, ...] = ()
    duration_s: PositiveNumber
    warm_up_s: NotNegative
    """When the measurement begins."""
    law: Law = "improved"
    """The law for ``penstock run``; the papers' table uses both."""
    expect: Expectations = Expectations()
    start_spread_s: NotNegative = 1.0
    """Clients that start together start at random within this time; 0 means at once."""
    bottleneck_receivers: Positive = 1
    """The number of receiving brokers behind a bottleneck: a message names them, and is one packet
    long there."""

    @property
    def brokers(self) -> list[str]:
        """Every broker, sorted by name."""
        return sorted({end for link in self.links for end in link.ends})


def load(name: str) -> MulticastScenario:
    """One of the shipped files."""
    text = files("penstock.papers").joinpath("scenarios", f"{name}.toml").read_bytes()
    return msgspec.toml.decode(text, type=MulticastScenario)


def star(senders: int, *, duration_s: float, warm_up_s: float) -> MulticastScenario:
    """Scenario 4: senders and receivers at separate brokers, one 2 Mbit/s link between them.

    S_i sends to a group of R_i, R_i+1 and R_i+2, modulo the number of receivers.
    """
    links = [LinkPlan(("A", "B"), 2.0)]
    links += [LinkPlan((f"S{number}", "A")) for number in range(senders)]
    links += [LinkPlan(("B", f"R{number}")) for number in range(senders)]
    groups = {
        f"g{number}": tuple(f"R{(number + each) % senders}" for each in range(min(3, senders)))
        for number in range(senders)
    }
    return MulticastScenario(
        service="multicast",
        name=f"{senders} senders",
        links=tuple(links),
        groups=groups,
        senders=tuple(
            SenderPlan(f"s{number}", f"S{number}", (f"g{number}",)) for number in range(senders)
        ),
        duration_s=duration_s,
        warm_up_s=warm_up_s,
        bottleneck_receivers=min(3, senders),
    )
