"""Rows of the content-aware paper's table: both laws side by side, or one policy for comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.lab.papers.datagram_scenario import FLOWS, IMPROVED
from penstock.lab.papers.table import SHOWN, Bar, PaperRow, row

SERVICE: Final = "datagram"


def both_laws(
    name: str,
    metric: str,
    unit: str,
    measure: Callable[[str], list[float]],
    *,
    paper: str,
    bar: Bar = SHOWN,
    stretch: Bar | None = None,
    note: str = "",
) -> PaperRow:
    """A row of both laws; ``measure`` gives the values of a policy, by its name."""
    return row(
        SERVICE,
        name,
        metric,
        unit,
        paper=paper,
        bar=bar,
        stretch=stretch,
        paper_law=measure(FLOWS.name),
        improved_law=measure(IMPROVED.name),
        note=note,
    )


def shown_alone(name: str, metric: str, unit: str, values: list[float], paper: str) -> PaperRow:
    """A row that shows one policy, for comparison."""
    return row(SERVICE, name, metric, unit, paper=paper, bar=SHOWN, paper_law=values)
