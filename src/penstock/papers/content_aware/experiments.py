"""The runs of the content-aware paper: every scenario under four policies.

A key is the name of a scenario and of a policy.  Policies that have a bar, and those that they are
compared with number by number, run with every seed; a policy that is only shown beside them runs
with the first seed alone.

The live runs have the paper's rates and less time.  Shares need time: in a fifth of it the paper's
law is 6 to 18 % from max-min in the simulator too, because a history of eight loss intervals is
half of the measured time then; so Figure 9 has a third.  Figure 10 is run beside the kernel's TCP,
between network namespaces, where the headers count on the link.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.lab.experiments.experiment import Computation, Experiment, Source
from penstock.papers.content_aware import corners, publisher_cost, records

POLICIES: Final = {
    "none": {"law": "none"},
    "records": {"law": "paper", "detection": "record"},
    "paper": {"law": "paper", "detection": "flow"},
    "improved": {"law": "improved", "detection": "flow"},
}
"""No control, the paper's law with publication records alone, the same with the numbers of flows
beside them, and the improved law."""

ALL, BARRED = frozenset(POLICIES), frozenset(("paper", "improved"))
COMPARED: Final = BARRED | {"none"}

SCENARIOS: Final = {
    "load": ("variable-load", ALL, COMPARED, 4),
    "capacity": ("variable-capacity", COMPARED, BARRED, 6),
    "fairness": ("fairness", ALL, BARRED, 7),
    "TCP": ("tcp", ALL, BARRED, 2),
    "thin TCP": ("tcp-thin", ALL, BARRED, 5),
    "disjoint": ("disjoint", COMPARED, COMPARED, 1),
    "large": ("large", ALL, COMPARED, 8),
    "many": ("many", BARRED, BARRED, 3),
    "flash crowd": ("flash-crowd", BARRED, BARRED, 6),
    "parking lot": ("parking-lot", BARRED, BARRED, 3),
}
"""The file, the policies that run, those that run with every seed, and the effort."""

SHORTENED: Final = {"load": 5.0, "capacity": 5.0, "fairness": 3.0}
LIVE_RUNS: Final = 3
"""The median of so many live runs counts."""

UDP_HEADERS_BYTES: Final = 14 + 20 + 8
"""Ethernet, IP and UDP."""

BESIDE_KERNEL_TCP: Final[dict[str, Any]] = {
    "duration_s": 70.0,
    "cross_traffic.tcp.start_s": 5.0,
    # As much as the ticks of the publisher.
    "cross_traffic.tcp.access.jitter_ms": 2.0,
    "clients.publisher.message_bytes": 280 - UDP_HEADERS_BYTES,
}


def _of(policy: str, overrides: dict[str, Any] | None = None) -> dict[str, Any]:
    parameters = POLICIES[policy].items()
    return {
        **{f"parameters.datagram.{key}": value for key, value in parameters},
        **(overrides or {}),
    }


def _experiments() -> dict[str, Source]:
    named: dict[str, Source] = {
        "record estimates": Computation(records.estimate),
        "record estimates, one seed": Computation(records.estimate, most_seeds=1),
        "publisher cost": Computation(publisher_cost.measured, most_seeds=1),
    }
    for name, (file, policies, every_seed, effort) in SCENARIOS.items():
        for policy in POLICIES:
            if policy in policies:
                seeds = 1000 if policy in every_seed else 1
                named[f"{name} {policy}"] = Experiment(
                    f"datagram-{file}", _of(policy), most_seeds=seeds, effort=effort
                )
    for corner in corners.CORNERS:
        for policy in ("paper", "improved"):
            named[f"{corner.name} {policy}"] = Experiment(
                corners.FILE, _of(policy, corner.overrides()), most_seeds=1, effort=4
            )
    for policy in (each for each in POLICIES if each in COMPARED):
        runs = LIVE_RUNS if policy in BARRED else 1
        for name, factor in SHORTENED.items():
            file = f"datagram-{SCENARIOS[name][0]}"
            named[f"live {name} {policy}"] = Experiment(
                file, _of(policy), "net", factor, most_seeds=runs
            )
        named[f"live TCP {policy}"] = Experiment(
            "datagram-tcp",
            {**_of(policy), **BESIDE_KERNEL_TCP},
            "net",
            namespaces=True,
            most_seeds=runs,
        )
    return named


EXPERIMENTS: Final = _experiments()
