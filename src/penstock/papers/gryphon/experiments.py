"""The runs of the Gryphon paper: its experiments under both laws, and what they are compared with.

A KB is 1024 bytes.  The live runs have real rates and limits, and 40 % of the time: the outage and
the phases are shorter, and with them the recovery.  They run with the links' own limits on
loopback, and, as root, over network namespaces where the kernel limits them (tc tbf).
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from penstock.papers.experiment import Computation, Experiment, Source
from penstock.papers.gryphon.catch_up import catch_up

KB: Final = 1024
LAWS: Final = ("paper", "improved")

THRESHOLDS: Final = (-0.2, 0.0, 0.6, 1.0, 1.4, 1.8, 2.0)
"""Δt_rec of E4, tick seconds per second: the paper's range, and where its curve bends."""

SHORT_E4_S: Final = 200.0
"""Half a minute less than in the file: with a threshold of 1 and more, a recovery ends within 60 s
of the repair, and one that did not would still be seen."""

SHARE: Final = 0.4
"""The part of the time of the live runs."""

LIVE: Final = {"live": False, "over tc tbf": True}
"""The live runs by their label, and whether they are over network namespaces."""


def _experiment(file: str, law: str = "paper", **congestion: Any) -> Experiment:
    parameters = {"law": law, **congestion}
    return Experiment(
        f"gryphon-{file}", {f"congestion.{key}": value for key, value in parameters.items()}
    )


def _changed(experiment: Experiment, **changes: Any) -> Experiment:
    return Experiment(experiment.scenario, {**experiment.overrides, **changes})


def _live(file: str, law: str, *, namespaces: bool) -> Experiment:
    overrides = {"congestion.law": law, "drain_s": 30}
    return Experiment(
        f"gryphon-{file}", overrides, "net", 1 / SHARE, namespaces=namespaces, most_seeds=1
    )


def _experiments() -> dict[str, Source]:
    e1 = _experiment("e1")
    named: dict[str, Source] = {
        "collapse 1": _experiment("collapse-1"),
        "collapse 2": _experiment("collapse-2"),
        "SDCC alone": _experiment("collapse-2", sdcc=True),
        "PDCC alone": _experiment("collapse-2", pdcc=True),
        "E1 window": _changed(
            e1, **{"links.pb-ib.bandwidth_bytes_per_s": 500 * KB, "duration_s": 260}
        ),
        "cache": _changed(e1, **{"guaranteed.relay_cache_bytes": 32 << 20, "duration_s": 180}),
        "E1 starving improved": _experiment("e1", "improved", live_floor_share=0.008),
        "catch-up paced": Computation(partial(catch_up, paced=True)),
        "catch-up naive": Computation(partial(catch_up, paced=False)),
    }
    for law in LAWS:
        for file in ("e1", "e2", "e3"):
            named[f"{file.upper()} {law}"] = _experiment(file, law)
        for threshold in THRESHOLDS:
            e4 = _experiment("e4", law, recovering_threshold=threshold)
            short = {"duration_s": SHORT_E4_S} if threshold >= 1 else {}
            named[f"E4 {threshold:g} {law}"] = _changed(e4, **short)
    for label, namespaces in LIVE.items():
        for law in LAWS:
            for file in ("e1", "e2"):
                key = f"{file.upper()} {label} {law}"
                named[key] = _live(file, law, namespaces=namespaces)
    return named


EXPERIMENTS: Final = _experiments()
