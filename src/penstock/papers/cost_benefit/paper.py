"""The experiments of "A Cost-Benefit Flow Control for Reliable Multicast and Unicast in Overlay
Networks": the paper's results and ours.

Bars and stretches are those of docs/papers/cost-benefit.md.  Scenarios 1 to 3 run with the broker
machines, scenario 4 with the same policies as arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock.papers.cost_benefit.figures import draw_all
from penstock.papers.cost_benefit.plans import all_plans
from penstock.papers.cost_benefit.rows import rows_of
from penstock.papers.cost_benefit.runs import run_all
from penstock.papers.table import PaperRow


def run(*, world: str, seeds: int, out: Path, progress: Callable[[str], None]) -> list[PaperRow]:
    """Run everything, draw the figures, and return the rows."""
    out.mkdir(parents=True, exist_ok=True)
    if world == "net":
        from penstock.papers.cost_benefit.live_rows import live_rows

        return live_rows(out, progress)
    results = run_all(all_plans(), seeds, progress)
    draw_all(results, out)
    return rows_of(results)
