"""The experiments of "End-to-End Congestion Control for Content-Based Networks", as one table.

The column "paper's law" is the paper's control with flow numbers beside the publication records;
the results of records alone are in rows of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock.papers.content_aware.figures import draw_all
from penstock.papers.content_aware.large_rows import large_rows
from penstock.papers.content_aware.records import estimate
from penstock.papers.content_aware.rows import (
    capacity_rows,
    disjoint_rows,
    fairness_rows,
    load_rows,
    record_rows,
    tcp_rows,
)
from penstock.papers.content_aware.runs import run_all
from penstock.papers.table import PaperRow


def run(*, world: str, seeds: int, out: Path, progress: Callable[[str], None]) -> list[PaperRow]:
    """All rows of this paper; figures go to ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    if world == "net":
        # Imported here: the simulator needs no brokers and no network namespaces.
        from penstock.papers.content_aware.live import live_rows

        return live_rows(seeds, progress)
    estimates = [estimate(seed) for seed in range(1, seeds + 1)]
    runs, large = run_all(seeds, progress)
    progress("figures")
    draw_all(runs, large, estimates[0], out)
    return [
        *record_rows(estimates),
        *load_rows(runs),
        *capacity_rows(runs),
        *fairness_rows(runs),
        *tcp_rows(runs),
        *disjoint_rows(runs),
        *large_rows(large),
    ]
