"""The runs of the Gryphon paper: its experiments under both laws, and what they are compared with.

A KB is 1024 bytes.  The live runs have real rates and limits, and 40 % of the time: the outage and
the phases are shorter, and with them the recovery.  They run with the links' own limits on
loopback, and, as root, over network namespaces where the kernel limits them (tc tbf).
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from penstock.lab.experiments.experiment import Computation, Experiment, Source
from penstock.papers.gryphon.catch_up import catch_up

KB: Final = 1024
LAWS: Final = ("paper", "improved")

THRESHOLDS: Final = (-0.2, 0.0, 0.6, 1.0, 1.4, 1.8, 2.0)
"""Δt_rec of E4, tick seconds per second: the paper's range, and where its curve bends."""

SHORT_E4_S: Final = 200.0
"""Half a minute less than in the file: with a threshold of 1 and more, a recovery ends within 60 s
of the repair, and one that did not would still be seen."""

LATENCIES_MS: Final = (1, 350, 600, 1000)
"""One way, of the link behind which an edge recovers: a machine room, a satellite, and beyond."""

SHARE: Final = 0.4
"""The part of the time of the live runs."""

LIVE: Final = {"live": False, "over tc tbf": True}
"""The live runs by their label, and whether they are over network namespaces."""


def _experiment(
    file: str, law: str = "paper", other: dict[str, Any] | None = None, **congestion: Any
) -> Experiment:
    parameters = {f"congestion.{key}": value for key, value in congestion.items()}
    return Experiment(f"gryphon-{file}", {"congestion.law": law, **parameters, **(other or {})})


def _live(file: str, law: str, *, namespaces: bool) -> Experiment:
    overrides = {"congestion.law": law, "drain_s": 30}
    return Experiment(
        f"gryphon-{file}", overrides, "net", 1 / SHARE, namespaces=namespaces, most_seeds=1
    )


WIDE: Final = {"links.pb-ib.bandwidth_bytes_per_s": 500 * KB, "duration_s": 260}
CACHED: Final = {"guaranteed.relay_cache_bytes": 32 << 20, "duration_s": 180}

EXPERIMENTS: Final[dict[str, Source]] = {
    "collapse 1": _experiment("collapse-1"),
    "collapse 2": _experiment("collapse-2"),
    "SDCC alone": _experiment("collapse-2", sdcc=True),
    "PDCC alone": _experiment("collapse-2", pdcc=True),
    "E1 window": _experiment("e1", other=WIDE),
    "cache": _experiment("e1", other=CACHED),
    "E1 starving improved": _experiment("e1", "improved", live_floor_share=0.008),
    "catch-up paced": Computation(partial(catch_up, paced=True)),
    "catch-up naive": Computation(partial(catch_up, paced=False)),
}
for _law in LAWS:
    for _latency_ms in LATENCIES_MS:
        _latency = {"links.ib-sb2.latency_ms": _latency_ms}
        EXPERIMENTS[f"long link {_latency_ms} {_law}"] = _experiment("long-link", _law, _latency)
    for _file in ("equal-paths", "returns", "sizes", "starved", "unpaced"):
        EXPERIMENTS[f"{_file} {_law}"] = _experiment(_file, _law)
    for _file in ("e1", "e2", "e3"):
        EXPERIMENTS[f"{_file.upper()} {_law}"] = _experiment(_file, _law)
    for _threshold in THRESHOLDS:
        _short = {"duration_s": SHORT_E4_S} if _threshold >= 1 else None
        EXPERIMENTS[f"E4 {_threshold:g} {_law}"] = _experiment(
            "e4", _law, _short, recovering_threshold=_threshold
        )
    for _label, _namespaces in LIVE.items():
        for _file in ("e1", "e2"):
            EXPERIMENTS[f"{_file.upper()} {_label} {_law}"] = _live(
                _file, _law, namespaces=_namespaces
            )
EXPERIMENTS["equal-paths live improved"] = Experiment(
    "gryphon-equal-paths", {"congestion.law": "improved"}, "net", most_seeds=1
)
