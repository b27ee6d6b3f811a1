"""The quantities of the content-aware paper's table, with the bars, for both worlds alike.

A ``Quantity`` becomes a row for both laws side by side, or for one policy that is only shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from penstock.papers.content_aware.scenario import FLOWS, IMPROVED
from penstock.papers.table import SHOWN, Bar, PaperRow, at_least, at_most, row, within

SERVICE: Final = "datagram"

Measure = Callable[[str], Sequence[float]]
"""The values of a policy, by its name; one for each seed."""


class Quantity(msgspec.Struct, frozen=True):
    """A measured quantity, the paper's value, and the bar."""

    metric: str
    unit: str
    paper: str = "–"
    bar: Bar = SHOWN
    stretch: Bar | None = None

    def both_laws(self, run: str, measure: Measure, *, paper: str = "", note: str = "") -> PaperRow:
        """A row for the paper's law with flow numbers, and for the improved one."""
        return row(
            SERVICE,
            run,
            self.metric,
            self.unit,
            paper=paper or self.paper,
            bar=self.bar,
            stretch=self.stretch,
            paper_law=measure(FLOWS.name),
            improved_law=measure(IMPROVED.name),
            note=note,
        )

    def judged_alone(self, run: str, values: Sequence[float]) -> PaperRow:
        """A row for a quantity that is the same under both laws."""
        return self._alone(run, values, self.paper, self.bar)

    def shown_alone(
        self, run: str, values: Sequence[float], *, paper: str = "–", note: str = ""
    ) -> PaperRow:
        """A row for one policy, for comparison, without a bar."""
        return self._alone(run, values, paper, SHOWN, note)

    def _alone(
        self, run: str, values: Sequence[float], paper: str, bar: Bar, note: str = ""
    ) -> PaperRow:
        return row(
            SERVICE, run, self.metric, self.unit, paper=paper, bar=bar, paper_law=values, note=note
        )


FEWER_LOSSES: Final = Quantity("losses without control / with", "x", "20", at_least(20))
LOST_UNDER_LOAD: Final = Quantity("messages lost", "", stretch=at_most(50))
DELIVERED: Final = Quantity(
    "deliveries / without control",
    "",
    "0.98 (45,000 of 46,000)",
    at_least(0.97),
    at_least(0.97),
)
ADAPTATION: Final = Quantity("time to use a doubled capacity", "s", "< 2", at_most(2), at_most(1))
UTILISATION: Final = Quantity("utilisation", "", "–", at_least(0.93), at_least(0.95))
LOST_IN_CHANGES: Final = Quantity("messages lost", "", "barely noticeable", stretch=at_most(49))
UNFAIRNESS: Final = Quantity(
    "worst flow's distance from max-min", "%", "max-min", at_most(15), at_most(7)
)
FAIR_UTILISATION: Final = Quantity("utilisation", "", stretch=at_least(0.95))
TCP_SHARE: Final = Quantity(
    "TCP's part of the link",
    "%",
    "52.5 (5 % more than the flow)",
    within(40, 60),
    within(45, 55),
)
UNMOVED: Final = Quantity(
    "change of the other subscriber's rate", "%", "none (Figure 1)", at_most(1), at_most(1)
)
LOST_DELIVERIES: Final = Quantity(
    "deliveries lost after 3 s", "%", "nearly 0", at_most(5), at_most(1.5)
)
BOTTLENECK_USE: Final = Quantity(
    "use of the bottleneck", "", "> 0.90", at_least(0.90), at_least(0.95)
)
DELAY: Final = Quantity(
    "delay / without control", "", "0.53 (54 of 102 ms)", at_most(0.85), at_most(0.5)
)
LARGE_DELIVERED: Final = Quantity(
    "deliveries / without control", "", "0.88, on a workload that is not given"
)
REPORTS: Final = Quantity("reports to a publisher", "1/s", "stable (Figure 12a)")
TABLE_SIZE: Final = Quantity("flows in a publisher's table", "", "stable (Figure 12b)")
RECORD_ESTIMATE: Final = Quantity(
    "estimated rate / ideal receiver's", "x", "close to ideal", within(0.8, 1.25)
)
