"""A row of the cost-benefit paper's table, from the results of its runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.papers.cost_benefit.result import MulticastResult
from penstock.papers.cost_benefit.runs import Results, RunPlan
from penstock.papers.table import SHOWN, Bar, PaperRow, at_most, row
from penstock.services.multicast.parameters import Law

SERVICE: Final = "multicast"
Measure = Callable[[MulticastResult], float]

SMALL_BUFFER: Final = at_most(55)
"""The bound on every buffer under the improved law, from 5 to 8,000 senders."""


def highest(result: MulticastResult) -> float:
    """The highest buffer."""
    return result.highest


def total(result: MulticastResult) -> float:
    """The rate of all senders."""
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

    def throughput(
        self,
        plans: dict[Law, RunPlan],
        run: str,
        *,
        paper: str = "–",
        bar: Bar = SHOWN,
        stretch: Bar | None = None,
        note: str = "",
    ) -> PaperRow:
        """The rate of all senders together."""
        return self.both(
            plans,
            run,
            "all senders",
            "Mbit/s",
            total,
            paper=paper,
            bar=bar,
            stretch=stretch,
            note=note,
        )

    def buffer(
        self,
        plans: dict[Law, RunPlan],
        run: str,
        measure: Measure = highest,
        *,
        paper: str = "–",
        bar: Bar = SHOWN,
        stretch: Bar | None = SMALL_BUFFER,
        note: str = "",
    ) -> PaperRow:
        """The highest buffer of a link."""
        return self.both(
            plans,
            run,
            "highest buffer",
            "packets",
            measure,
            paper=paper,
            bar=bar,
            stretch=stretch,
            note=note,
        )

    def difference(
        self,
        first: dict[Law, RunPlan],
        second: dict[Law, RunPlan],
        run: str,
        metric: str,
        unit: str,
        measure: Measure,
        *,
        bar: Bar,
        note: str = "",
    ) -> PaperRow:
        """The difference of two kinds of run in one quantity, seed by seed."""

        def apart(law: Law) -> list[float]:
            pairs = zip(
                self.values(first[law], measure), self.values(second[law], measure), strict=False
            )
            return [abs(one - other) for one, other in pairs]

        return row(
            SERVICE,
            run,
            metric,
            unit,
            paper="–",
            bar=bar,
            paper_law=apart("paper"),
            improved_law=apart("improved"),
            note=note,
        )

    def values(self, plan: RunPlan, measure: Measure) -> list[float]:
        """One quantity of one plan."""
        return [measure(each) for each in self._results[plan]]
