"""The runs of the cost-benefit paper: both laws, and what they are compared with.

Scenarios 1 to 3 run with the broker machines, scenario 4 as arrays, and the live part as processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.core.clock import MILLISECOND
from penstock.lab.experiments.experiment import Computation, Experiment, Source, World
from penstock.papers.cost_benefit.tcp import chain_of_tcp

LAWS: Final = ("paper", "improved")
LAW: Final = "parameters.multicast.law"

AT_ONCE: Final = {f"clients.{each}.start_within_s": 0.001 for each in ("acfg", "cdg")}
"""Everybody starts within a millisecond; the seed decides the order."""

FAR: Final = 6
"""The factor for the length of links: a continent becomes the Earth."""

FAR_AWAY: Final = {
    **{f"links.{each}.latency_ms": 10 * FAR for each in ("A-B", "B-C", "B-D", "E-F", "E-G")},
    "links.B-E.latency_ms": 15 * FAR,
}

RECEIVED: Final = {"parameters.multicast.benefit_counts": "received"}
"""The benefit is what all members receive (Section I), not what is sent."""

STAR_SENDERS: Final = (5, 20, 50, 100, 200, 400, 800)
MANY: Final = 8000
MANY_DURATION_S: Final = 300
"""Each of 8,000 senders sends a packet in 32 s: nine or ten of them can be compared."""

CHECKED: Final = 20
"""Senders of scenario 4 that also run with the broker machines, 42 of them."""

LONG_WEIGHT: Final = 125.0
"""Five links make the price five times that of one, and a rate falls with the third power of its
price (a = 1/3): under the improved law this weight makes up for it."""

BENEFITS: Final[Mapping[str, Mapping[str, Any]]] = {
    "throughput": {},
    "concave (√R)": {"parameters.multicast.benefit": "concave"},
    "A to F weighted 125": {
        "clients.AF.weight": LONG_WEIGHT,
        "parameters.multicast.highest_weight": LONG_WEIGHT,
    },
}

CONSTANTS_MS: Final = {"lottery": (40, 100), "shortest_period": (20, 30)}
"""Constants that the paper does not specify, the chosen value first."""

LIVE_WARM_UP_S, LIVE_S = 8, {"1": 20, "2": 20, "cairn": 40}
"""Duration of each live measurement.  On the chain two clients are compared instead of two classes
of twenty, and under the paper's law they differ by chance."""

LIVE_PACKETS: Final = 20
"""A limited link holds nothing unacknowledged, so the unpriced part must be configured."""


def star(senders: int) -> dict[str, Any]:
    """Scenario 4 with so many senders."""
    tables = ("brokers.S", "brokers.R", "links.S-A", "links.B-R", "clients.s")
    members = ("clients.first", "clients.second", "clients.third")
    return {
        **{f"{each}.count": senders for each in (*tables, *members)},
        "clients.second.broker": f"R{{i+1%{senders}}}",
        "clients.third.broker": f"R{{i+2%{senders}}}",
    }


def _both(
    named: dict[str, Source],
    name: str,
    scenario: str,
    overrides: Mapping[str, Any] | None = None,
    *,
    world: World = "sim",
    most_seeds: int = 1000,
    effort: int = 1000,
) -> None:
    for law in LAWS:
        named[f"{name} {law}"] = Experiment(
            f"multicast-{scenario}",
            {LAW: law, **(overrides or {})},
            world,
            most_seeds=most_seeds,
            effort=effort,
        )


def _constants(named: dict[str, Source]) -> None:
    """Two constants of the paper's law, each with the chosen value and another one."""
    for scenario, changes, constant in (
        ("2", AT_ONCE, "lottery"),
        ("star", star(20), "lottery"),
        ("3", {}, "shortest_period"),
        ("star", star(5), "shortest_period"),
    ):
        for constant_ms in CONSTANTS_MS[constant]:
            changed = {f"parameters.multicast.paper.{constant}_ns": constant_ms * MILLISECOND}
            named[f"{scenario}, {constant} of {constant_ms} ms"] = Experiment(
                f"multicast-{scenario}", {LAW: "paper", **changes, **changed}, "arrays",
                most_seeds=2,
            )  # fmt: skip


def _experiments() -> dict[str, Source]:
    named: dict[str, Source] = {}
    _both(named, "1", "1")
    _both(named, "1 at once", "1", AT_ONCE, most_seeds=2)
    _both(named, "2", "2")
    _both(named, "2 at once", "2", AT_ONCE, most_seeds=2)
    _both(named, "2 delayed", "2-delayed")
    _both(named, "2 beside TCP", "tcp")
    _both(named, "2 received", "2", RECEIVED)
    _both(named, "2 arrays", "2", world="arrays", effort=1)
    _both(named, "2 far", "2", FAR_AWAY, world="arrays", effort=1)
    for name, overrides in BENEFITS.items():
        _both(named, f"3 {name}", "3", overrides, effort=2000)
    named["3 TCP"] = Computation(chain_of_tcp, effort=500)
    for senders in STAR_SENDERS:
        seeds = 1000 if senders == STAR_SENDERS[-1] else 2
        _both(named, f"star {senders}", "star", star(senders), world="arrays", most_seeds=seeds,
              effort=senders)  # fmt: skip
    _both(named, "star machines", "star", star(CHECKED), most_seeds=2, effort=3000)
    _both(named, f"star {MANY}", "star", {**star(MANY), "duration_s": MANY_DURATION_S},
          world="arrays", most_seeds=1, effort=MANY)  # fmt: skip
    _both(named, "lottery", "lottery")
    unrandomised = {LAW: "paper", "parameters.multicast.paper.randomised": False}
    named["lottery without"] = Experiment("multicast-lottery", unrandomised, effort=1000)
    _constants(named)
    for scenario, measured_s in LIVE_S.items():
        live = {
            "duration_s": LIVE_WARM_UP_S + measured_s,
            "parameters.multicast.paper.unacknowledged_packets": LIVE_PACKETS,
        }
        _both(named, f"{scenario} live", scenario, live, world="net", most_seeds=1)
    return named


EXPERIMENTS: Final = _experiments()
