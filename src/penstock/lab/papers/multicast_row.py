"""A row of the cost-benefit paper's table, from the results of its runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.lab.papers.multicast_result import MulticastResult
from penstock.lab.papers.multicast_runs import Results, RunPlan
from penstock.lab.papers.table import Bar, PaperRow, row
from penstock.multicast.parameters import Law

SERVICE: Final = "multicast"
Measure = Callable[[MulticastResult], float]


def highest(result: MulticastResult) -> float:
    """The highest buffer."""
    return result.highest


def total(result: MulticastResult) -> float:
    """What all senders sent."""
    return result.total_mbit_per_s


class Rows:
    """Makes rows from results."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def both(
        self,
        plans: dict[Law, RunPlan],
        run: str,
        metric: str,
        unit: str,
        measure: Measure,
        *,
        paper: str,
        bar: Bar,
        stretch: Bar | None = None,
        note: str = "",
    ) -> PaperRow:
        """One quantity under both laws."""
        return row(
            SERVICE,
            run,
            metric,
            unit,
            paper=paper,
            bar=bar,
            stretch=stretch,
            paper_law=map(measure, self._results[plans["paper"]]),
            improved_law=map(measure, self._results[plans["improved"]]),
            note=note,
        )

    def values(self, plan: RunPlan, measure: Measure) -> list[float]:
        """One quantity of one plan."""
        return [measure(each) for each in self._results[plan]]
