"""What the runs of a paper gave: numbers of every seed, and the curves of the first one.

The runs themselves are measured in the processes that make them; only this comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from penstock.lab.experiments.experiment import Measure
from penstock.lab.experiments.marks import Mark
from penstock.lab.experiments.table import median_of
from penstock.lab.telemetry.curves import Curve


class Of(msgspec.Struct, frozen=True):
    """A measure of one experiment."""

    experiment: str
    measure: Measure


Sources: TypeAlias = str | Of | tuple["str | Of", ...]
"""Where values come from: an experiment by its key (with the measure of the row), a measure of an
experiment, or several of these, which a function combines."""

Combine: TypeAlias = Callable[[Sequence[Sequence[float]]], Sequence[float]]
"""Takes the values of each source, seed by seed, and returns the values to judge."""

NAN: Final = float("nan")


class Results:
    """Everything that was measured, by experiment."""

    def __init__(self) -> None:
        self._values: dict[Of, list[float]] = {}
        self._curves: dict[tuple[str, object], Curve] = {}
        self._seeds: dict[str, int] = {}
        self._missing: dict[Of, str] = {}
        self._marks: dict[str, tuple[Mark, ...]] = {}
        self._end_s: dict[str, float] = {}

    # -- written by the runner -------------------------------------------------------------------

    def add(self, of: Of, value: float, missing: str = "") -> None:
        """The next seed's value of a measure, or why there is none."""
        self._values.setdefault(of, []).append(value)
        if missing:
            self._missing[of] = missing

    def add_curve(self, experiment: str, source: object, curve: Curve) -> None:
        """A curve of the first seed."""
        self._curves[experiment, source] = curve

    def ran(self, experiment: str, seeds: int, marks: tuple[Mark, ...], end_s: float) -> None:
        """An experiment was run with so many seeds, until a second."""
        self._seeds[experiment] = seeds
        self._marks[experiment] = marks
        self._end_s[experiment] = end_s

    # -- read by rows and figures ----------------------------------------------------------------

    def values(self, experiment: str, measure: Measure) -> list[float]:
        """A measure of an experiment, seed by seed."""
        of = Of(experiment, measure)
        if of not in self._values:
            raise KeyError(f"{of} was not measured; name it in needs")
        return self._values[of]

    def median(self, experiment: str, measure: Measure) -> float:
        """The median over the seeds."""
        return median_of(self.values(experiment, measure))

    def __contains__(self, experiment: object) -> bool:
        """Whether an experiment was run."""
        return experiment in self._seeds

    def seeds(self, experiment: str) -> int:
        """How many seeds an experiment was run with; 0 if it was not run."""
        return self._seeds.get(experiment, 0)

    def curve(self, experiment: str, source: object) -> Curve:
        """A curve of the first seed; empty if there is none."""
        return self._curves.get((experiment, source), ())

    def marks(self, experiment: str) -> tuple[Mark, ...]:
        """The faults and changes of an experiment's scenario."""
        return self._marks.get(experiment, ())

    def end_s(self, experiment: str) -> float:
        """When an experiment's scenario ends."""
        return self._end_s.get(experiment, 0.0)

    def missing(self, needed: Sequence[Of]) -> list[str]:
        """Why some of these measures have no value."""
        found = {each.experiment: self._missing[each] for each in needed if each in self._missing}
        return [f"{experiment}: {why}" for experiment, why in found.items()]

    def combined(
        self, sources: Sources, measure: Measure, combine: Combine | None = None
    ) -> list[float]:
        """The values of one source, or those of several combined."""
        values = [self.values(each.experiment, each.measure) for each in needs(sources, measure)]
        if combine is None:
            (values_of_one,) = values
            return values_of_one
        return list(combine(values))


def needs(sources: Sources, measure: Measure) -> tuple[Of, ...]:
    """Every measure that these sources stand for; none for ""."""
    listed = sources if isinstance(sources, tuple) else (sources,) if sources else ()
    return tuple(each if isinstance(each, Of) else Of(each, measure) for each in listed)
