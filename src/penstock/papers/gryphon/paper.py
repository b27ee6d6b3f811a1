"""The experiments of the Gryphon paper: its results and those of this implementation.

Bars and stretches are those of docs/papers/gryphon.md.  A KB is 1024 bytes, a data message has 368
bytes on the wire (the multiple of eight next to 366).
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from penstock.papers.gryphon.figures import draw_figures
from penstock.papers.gryphon.live import run_live
from penstock.papers.gryphon.rows import (
    KB,
    THRESHOLDS,
    Runs,
    collapse_rows,
    e1_rows,
    e2_rows,
    e3_rows,
    e4_rows,
    exactness_rows,
)
from penstock.papers.gryphon.runs import Job, run_job
from penstock.papers.table import PaperRow

WORKERS: Final = 2

SHORT_E4_S: Final = 200.0
"""Half a minute less than in the file: with a threshold of 1 and more, a recovery ends within 60 s
of the repair, and one that did not would still be seen."""


def jobs(seeds: int) -> dict[str, list[Job]]:
    """Everything to run, by name."""
    numbers = range(1, seeds + 1)
    named: dict[str, list[Job]] = {
        "collapse 1": [Job("gryphon-collapse-1", "paper", seed) for seed in numbers],
        "collapse 2": [Job("gryphon-collapse-2", "paper", seed) for seed in numbers],
        "SDCC alone": [
            Job("gryphon-collapse-2", "paper", seed, {"sdcc": True}) for seed in numbers
        ],
        "PDCC alone": [
            Job("gryphon-collapse-2", "paper", seed, {"pdcc": True}) for seed in numbers
        ],
        "E1 window": [
            Job("gryphon-e1", "paper", seed, bandwidth=("pb", "ib", 500 * KB), duration_s=260)
            for seed in numbers
        ],
        "cache": [
            Job("gryphon-e1", "paper", seed, {}, {"relay_cache_bytes": 32 << 20}, duration_s=180)
            for seed in numbers
        ],
        "E1 starving improved": [
            Job("gryphon-e1", "improved", seed, {"live_floor_share": 0.008}) for seed in numbers
        ],
    }
    for law in ("paper", "improved"):
        for name, file in (("E1", "gryphon-e1"), ("E2", "gryphon-e2"), ("E3", "gryphon-e3")):
            named[f"{name} {law}"] = [Job(file, law, seed) for seed in numbers]
        for threshold in THRESHOLDS:
            named[f"E4 {threshold} {law}"] = [
                Job(
                    "gryphon-e4",
                    law,
                    seed,
                    {"recovering_threshold": threshold},
                    duration_s=SHORT_E4_S if threshold >= 1 else None,
                )
                for seed in numbers
            ]
    return named


def run(*, world: str, seeds: int, out: Path, progress: Callable[[str], None]) -> list[PaperRow]:
    """Run everything, draw the figures, and return the rows."""
    if world == "net":
        return run_live(out=out, progress=progress)
    runs = _run_all(jobs(seeds), progress)
    draw_figures(runs, THRESHOLDS, out)
    return [
        *collapse_rows(runs),
        *e1_rows(runs),
        *e2_rows(runs),
        *e3_rows(runs),
        *e4_rows(runs),
        *exactness_rows(runs),
    ]


def _run_all(named: dict[str, list[Job]], progress: Callable[[str], None]) -> Runs:
    flat = [(name, job) for name, group in named.items() for job in group]
    runs: Runs = {name: [] for name in named}
    with get_context("spawn").Pool(WORKERS) as pool:
        done = pool.imap(run_job, [job for _, job in flat])
        for number, (name, _) in enumerate(flat, 1):
            runs[name].append(next(done))
            progress(f"{number}/{len(flat)} {name}")
    return runs
