"""A row of a paper's table as data: what is measured in which experiments, and the bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean
from typing import TypeAlias

import msgspec

from penstock.lab.experiments.experiment import Measure
from penstock.lab.experiments.results import NAN, Combine, Of, Results, Sources, needs
from penstock.lab.experiments.table import SHOWN, Bar, PaperRow, median_of, verdict

Words: TypeAlias = str | Callable[[Results], str]
"""A text, or a function that writes it from the results."""

JudgedBy: TypeAlias = Bar | Callable[[Results], Bar]


class _Quantity(msgspec.Struct, frozen=True):
    run: str
    metric: str
    unit: str
    paper: str = "–"
    """The value in the paper."""
    bar: JudgedBy = SHOWN


class Row(_Quantity, frozen=True, kw_only=True):
    """One quantity under both laws, or one of them.

    A value is the median over the seeds.
    """

    measure: Measure
    paper_law: Sources = ""
    """The experiment with the paper's law, or several of which ``combine`` makes the values."""
    improved_law: Sources = ""
    laws: str = ""
    """Short for both, where the experiments are called ``NAME paper`` and ``NAME improved``."""
    stretch: JudgedBy | None = None
    note: Words = ""
    against: Sources = ""
    """The experiment by whose value each seed's value is divided."""
    inverse: bool = False
    """Whether the value of ``against`` is divided by this one instead."""
    combine: Combine | None = None
    scale: float = 1.0
    mean: bool = False
    """Whether the mean over the seeds is judged instead of the median."""
    needs: tuple[Of, ...] = ()
    """What ``bar``, ``stretch`` and ``note`` read of the results, beside the row's own values."""

    def __post_init__(self) -> None:
        """Resolve ``laws``."""
        if self.laws:
            for law in ("paper", "improved"):
                msgspec.structs.force_setattr(self, f"{law}_law", f"{self.laws} {law}")
            msgspec.structs.force_setattr(self, "laws", "")

    def needed(self) -> tuple[Of, ...]:
        """Everything that must be measured for the row."""
        sources = (self.paper_law, self.improved_law, self.against)
        own = (each for source in sources for each in needs(source, self.measure))
        return tuple(dict.fromkeys((*own, *self.needs)))

    def experiments(self) -> frozenset[str]:
        """The experiments that must be run for the row."""
        return frozenset(each.experiment for each in self.needed())

    def of_experiments(self, available: frozenset[str]) -> Row | None:
        """The row with only the laws that these experiments give; None if there are none."""
        if not _within(available, needs(self.against, self.measure), self.needs):
            return None
        laws = {
            law: getattr(self, law)
            if _within(available, needs(getattr(self, law), self.measure))
            else ""
            for law in ("paper_law", "improved_law")
        }
        return msgspec.structs.replace(self, **laws) if any(laws.values()) else None

    def judged(self, service: str, results: Results) -> PaperRow:
        """The line of the table."""
        bar = self.bar(results) if callable(self.bar) else self.bar
        stretch = self.stretch(results) if callable(self.stretch) else self.stretch
        note = self.note(results) if callable(self.note) else self.note
        missing = [f"nothing measured in {each}" for each in results.missing(self.needed())]
        values = [self.values(results, law) for law in (self.paper_law, self.improved_law)]
        paper, improved = (median_of(each) if each else None for each in values)
        return PaperRow(
            service,
            self.run,
            self.metric,
            self.unit,
            self.paper,
            bar.words,
            stretch.words if stretch is not None else "–",
            paper,
            improved,
            max(map(len, values)),
            verdict(bar, stretch, paper, improved),
            "; ".join(each for each in (note, *missing) if each),
        )

    def values(self, results: Results, law: Sources) -> list[float]:
        """The values of one law, seed by seed."""
        if not law:
            return []
        values = results.combined(law, self.measure, self.combine)
        if self.against:
            others = results.combined(self.against, self.measure, self.combine)
            pairs = zip(values, others, strict=True)
            values = [
                _ratio(other, value) if self.inverse else _ratio(value, other)
                for value, other in pairs
            ]
        values = [self.scale * each for each in values]
        return [mean(values)] * len(values) if self.mean else values


def _within(available: frozenset[str], *needed: Sequence[Of]) -> bool:
    return all(each.experiment in available for group in needed for each in group)


def _ratio(value: float, other: float) -> float:
    if other:
        return value / other
    return float("inf") if value else NAN
