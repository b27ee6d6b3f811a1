"""The experiments of the cost-benefit paper as scenario files.

A file says which brokers are linked, which clients are in which groups, who sends to them, and what
changes when.  The law is chosen apart from it, so that both meet the same load; the same file runs
with the broker machines, with arrays (multicast_arrays.py) and as processes.
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
"""Messages on the wire, headers included."""

UNACKNOWLEDGED_PACKETS = 20
"""What a link takes before anything waits in the overlay's buffer."""


class LinkPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A link between two brokers."""

    ends: tuple[str, str]
    mbit_per_s: PositiveNumber = 10.0
    latency_ms: PositiveNumber = 10.0

    @property
    def packets_per_s(self) -> float:
        """How many packets it carries."""
        return self.mbit_per_s * 1e6 / 8 / PACKET_BYTES

    @property
    def cost(self) -> int:
        """What it counts on a way: its latency in milliseconds, as a link must cost something."""
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
    """A link gets another bandwidth."""

    at_s: PositiveNumber
    ends: tuple[str, str]
    mbit_per_s: PositiveNumber


class Expectations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run must keep to; nothing is expected of what is not given."""

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
    """What is measured begins here."""
    law: Law = "improved"
    """Under which ``penstock run`` runs it; the papers' table takes both."""
    expect: Expectations = Expectations()
    start_spread_s: NotNegative = 1.0
    """Clients that start together start at random within so long; 0 is at once."""
    bottleneck_receivers: Positive = 1
    """How many receiving brokers are behind a bottleneck: a message names them, and is one packet
    long there."""

    @property
    def brokers(self) -> list[str]:
        """Every broker, in order of name."""
        return sorted({end for link in self.links for end in link.ends})


def load(name: str) -> MulticastScenario:
    """One of the files that come with the library."""
    text = files("penstock.papers").joinpath("scenarios", f"{name}.toml").read_bytes()
    return msgspec.toml.decode(text, type=MulticastScenario)


def star(senders: int, *, duration_s: float, warm_up_s: float) -> MulticastScenario:
    """Scenario 4: senders and receivers at brokers of their own, one 2 Mbit/s link between them.

    S_i sends to a group of R_i, R_i+1 and R_i+2, counted round.
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
