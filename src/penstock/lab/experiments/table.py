"""One table for all papers: the paper's value, the bar, and ours under both laws.

A row has one measured quantity of one run.  Bars are functions of the measured value, so a verdict
is computed and never typed in; a row that misses its bar stays in the table with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

import msgspec
from rich.table import Table
from rich.text import Text

Check = Callable[[float], bool]


class PaperRow(msgspec.Struct, frozen=True):
    """A line of the table; the field names are the JSON's."""

    service: str
    run: str
    metric: str
    unit: str
    paper: str
    bar: str
    stretch: str
    paper_law: float | None
    improved_law: float | None
    seeds: int
    verdict: str
    note: str


class Bar(msgspec.Struct, frozen=True):
    """A bound in words, and as a predicate on a measured value."""

    words: str
    holds: Check


def at_most(limit: float, unit: str = "") -> Bar:
    """The value must not exceed the limit."""
    return Bar(f"≤ {limit:g}{unit}", lambda value: value <= limit)


def at_least(limit: float, unit: str = "") -> Bar:
    """The value must reach the limit."""
    return Bar(f"≥ {limit:g}{unit}", lambda value: value >= limit)


def within(low: float, high: float, unit: str = "") -> Bar:
    """The value must lie in a range."""
    return Bar(f"{low:g} … {high:g}{unit}", lambda value: low <= value <= high)


SHOWN = Bar("shown", lambda value: True)
"""The table shows the value; there is no bar."""


def verdict(bar: Bar, stretch: Bar | None, paper: float | None, improved: float | None) -> str:
    """Judge the values of the laws that were run.

    "reproduced": the paper's law meets the bar, and the improved law too where it was run.
    "beaten": the improved law meets the stretch as well (without a stretch, "reproduced" is the
    best verdict).  If only one of the laws meets the bar, the verdict says so.  Otherwise "not
    reproduced", and the note must give the reason.
    """
    beaten = _meets(stretch, improved)
    if not _meets(bar, improved if paper is None else paper):
        return "beaten by the improved law only" if beaten else "not reproduced"
    if beaten:
        return "beaten"
    missed = improved is not None and not _meets(bar, improved)
    return "reproduced by the paper's law only" if missed else "reproduced"


def _meets(bar: Bar | None, value: float | None) -> bool:
    """Whether there is a bar, a value, and the one holds for the other."""
    return bar is not None and value is not None and value == value and bar.holds(value)


def median_of(values: Sequence[float]) -> float:
    """The median; not a number if one of the values is none."""
    return float("nan") if any(each != each for each in values) else median(values)


VERDICT_STYLES = {
    "beaten": "bold green",
    "reproduced": "green",
    "reproduced by the paper's law only": "yellow",
    "beaten by the improved law only": "yellow",
    "not reproduced": "red",
}


def render(rows: Iterable[PaperRow], title: str) -> Table:
    """The table for a terminal."""
    table = Table(title=title, header_style="bold", show_lines=False)
    for column in ("run", "metric", "unit", "paper", "bar", "stretch"):
        table.add_column(column, overflow="fold")
    for column in ("paper's law", "improved", "seeds"):
        table.add_column(column, justify="right")
    table.add_column("verdict")
    table.add_column("note", overflow="fold")
    for each in rows:
        table.add_row(
            each.run,
            each.metric,
            each.unit,
            each.paper,
            each.bar,
            each.stretch,
            _number(each.paper_law),
            _number(each.improved_law),
            str(each.seeds),
            Text(each.verdict, style=VERDICT_STYLES[each.verdict]),
            each.note,
        )
    return table


def _number(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.4g}"
