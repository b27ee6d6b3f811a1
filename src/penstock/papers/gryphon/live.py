"""E1 and E2 as processes on this machine: real rates and limits, durations cut to 40 %.

The brokers are real, and so are their sockets, logs and link limits; only the outage and the phases
are shorter, and with them the recovery.  Each runs twice: with the links' own limits on loopback,
and, as root, over network namespaces where the kernel limits them (tc tbf).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from penstock.lab.run import run
from penstock.lab.scenario.model import Scenario
from penstock.lab.worlds.namespaces import Namespaces, NoNamespaces, check_possible
from penstock.lab.worlds.net import NetRun
from penstock.papers.gryphon.runs import (
    Job,
    Kept,
    first_at_least,
    keep,
    largest,
    mean_between,
    recovery_s,
    scenario_of,
)
from penstock.papers.table import PaperRow, at_least, at_most, row

SERVICE: Final = "guaranteed"
SHARE: Final = 0.4
MESSAGE_BYTES: Final = 368
KB: Final = 1024


def shortened(scenario: Scenario, share: float = SHARE) -> Scenario:
    """The same scenario with all its times shortened."""
    faults = tuple(
        msgspec.structs.replace(fault, at_s=fault.at_s * share) for fault in scenario.faults
    )
    return msgspec.structs.replace(
        scenario, duration_s=scenario.duration_s * share, faults=faults, drain_s=30.0
    )


LiveRuns = dict[tuple[str, str], Kept]
"""By experiment and law."""


def run_live_job(job: Job, *, share: float = SHARE, namespaces: bool = False) -> Kept:
    """Run one experiment as processes."""
    scenario = shortened(scenario_of(job), share)
    layout = Namespaces() if namespaces else None
    return keep(job, run(scenario, NetRun(scenario, job.seed, layout=layout)))


def run_live(*, out: Path, progress: Callable[[str], None]) -> list[PaperRow]:
    """Both experiments under both laws, one after another: they share two cores."""
    rows = _rows(_run_all("live", progress, namespaces=False), "live")
    try:
        check_possible()
    except NoNamespaces as why:
        progress(f"without network namespaces: {why}")
        return rows
    return rows + _rows(_run_all("over tc tbf", progress, namespaces=True), "over tc tbf")


def _run_all(label: str, progress: Callable[[str], None], *, namespaces: bool) -> LiveRuns:
    kept: LiveRuns = {}
    for law in ("paper", "improved"):
        for experiment in ("gryphon-e1", "gryphon-e2"):
            progress(f"{experiment}, {law} law, {label}")
            job = Job(experiment, law, 1)
            kept[experiment, law] = run_live_job(job, namespaces=namespaces)
    return kept


def _rows(kept: LiveRuns, label: str) -> list[PaperRow]:
    return [*_e1(kept, label), *_e2(kept, label), *_exact(kept, label)]


def _e1(kept: LiveRuns, label: str) -> list[PaperRow]:
    mended = 150 * SHARE
    paper, improved = kept["gryphon-e1", "paper"], kept["gryphon-e1", "improved"]
    took = [recovery_s(each.lag_s["sb2"], mended) for each in (paper, improved)]
    back = [
        first_at_least(each.published, 450, mended + time)
        for each, time in zip((paper, improved), took, strict=True)
    ]
    name = f"E1 {label}, 40 % of the time"
    return [
        row(
            SERVICE, name, "recovery", "s", paper="160 for 120 s",
            bar=at_most(160 * SHARE), stretch=at_most(86 * SHARE),
            paper_law=took[:1], improved_law=took[1:],
        ),
        row(
            SERVICE, name, "450 msg/s again after", "s", paper="then 500",
            bar=at_most(90), stretch=at_most(15), paper_law=back[:1], improved_law=back[1:],
            note="the run ends before the paper's law is there, 78 s later in the simulator",
        ),
        _queue_row(name, paper, improved),
    ]  # fmt: skip


def _e2(kept: LiveRuns, label: str) -> list[PaperRow]:
    paper, improved = kept["gryphon-e2", "paper"], kept["gryphon-e2", "improved"]
    rows = []
    for start, limit in ((30, 60), (150, 150), (270, 60)):
        low, high = (start + 60) * SHARE, (start + 120) * SHARE
        capacity = limit * KB / MESSAGE_BYTES
        rows.append(
            row(
                SERVICE, f"E2 {label}, {limit} KB/s", "utilisation in the second half", "share",
                paper="near the optimum", bar=at_least(0.80), stretch=at_least(0.95),
                paper_law=[mean_between(paper.delivered["s1"], low, high) / capacity],
                improved_law=[mean_between(improved.delivered["s1"], low, high) / capacity],
                note="the second 24 s of 48 s: the paper's law still climbs",
            )
        )  # fmt: skip
    return [*rows, _queue_row(f"E2 {label}", paper, improved)]


def _queue_row(name: str, paper: Kept, improved: Kept) -> PaperRow:
    return row(
        SERVICE, name, "largest queue", "B", paper="< 1 MB", bar=at_most(1_000_000),
        stretch=at_most(128 * KB), paper_law=[largest(paper.queue_bytes)],
        improved_law=[largest(improved.queue_bytes)],
    )  # fmt: skip


def _exact(kept: LiveRuns, label: str) -> list[PaperRow]:
    return [
        row(
            SERVICE, f"every run {label}", metric.replace("_", " "), "messages", paper="never",
            bar=at_most(0), stretch=at_most(0),
            paper_law=[float(getattr(k, metric)) for (_, law), k in kept.items() if law == "paper"],
            improved_law=[
                float(getattr(k, metric)) for (_, law), k in kept.items() if law == "improved"
            ],
        )
        for metric in ("lost", "duplicated", "out_of_order")
    ]  # fmt: skip
