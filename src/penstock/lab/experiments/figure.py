"""A figure of a paper as data: panels with curves over the run, or with values over a parameter.

Curves are those of the first seed; values over a parameter are medians over all seeds, with a band
from the least to the largest.  ``drawing.py`` draws them; nothing here needs matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from penstock.lab.experiments.experiment import Measure
from penstock.lab.experiments.results import Combine, Of, Sources, needs
from penstock.lab.experiments.row import Words
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import Curve, How

PAPER, IMPROVED, PLAIN, REFERENCE = "#b5651d", "#1f5fa8", "#8a8a8a", "#2b2b2b"
"""Colours of the paper's law, the improved one, no control, and of what both are compared with."""

COLOURS: Final = ("#1f5fa8", "#b5651d", "#3a7d44", "#8a4f7d", "#e09f3e", "#5f6b6d")
"""Colours of curves that show no law."""

LAWS: Final = {"paper": ("paper's law", PAPER), "improved": ("improved law", IMPROVED)}
"""Label and colour of each law."""


class CurveOf(msgspec.Struct, frozen=True):
    """A curve to be taken from a run: how a measurement changes, or a function of a module."""

    what: Measurement | Callable[[RunResult], Curve]
    how: How = "rate"
    step_s: float = 1.0


class Line(msgspec.Struct, frozen=True):
    """A curve in a panel."""

    label: str
    what: Measurement | Callable[[RunResult], Curve]
    """The measurement whose metric, service, subject, node and window count, or a function."""
    how: How = "rate"
    step_s: float = 1.0
    scale: float = 1.0
    colour: str = ""
    """By default the next of ``COLOURS``."""
    experiment: str = ""
    """By default the panel's."""
    style: Literal["line", "dashed", "dots", "crosses", "bars"] = "line"

    @property
    def source(self) -> CurveOf:
        """What is taken from the run."""
        return CurveOf(self.what, self.how, self.step_s)


class Level(msgspec.Struct, frozen=True):
    """A dotted horizontal line, over the whole panel or a part of it."""

    value: float
    label: str = ""
    from_x: float | None = None
    to_x: float | None = None


class Panel(msgspec.Struct, frozen=True):
    """Curves over the seconds of a run, with its faults and changes."""

    experiment: str
    title: Words
    unit: str
    lines: tuple[Line, ...]
    log: bool = False
    levels: tuple[Level, ...] = ()
    low: float | None = 0.0
    """The least value shown; None leaves it to the values."""
    high: float | None = None
    from_s: float = 0.0
    to_s: float | None = None
    """By default the end of the scenario."""
    x_label: str = "seconds"
    marks: bool = True
    needs: tuple[Of, ...] = ()
    """What a ``title`` that is a function reads of the results."""


class Series(msgspec.Struct, frozen=True):
    """A measure over a parameter: its values, and the experiments that give them."""

    label: str
    measure: Measure
    points: tuple[tuple[float, Sources | float], ...]
    """For each x an experiment, several that ``combine`` makes one of, or a number itself."""
    colour: str = ""
    style: Literal["line", "dashed", "dots", "crosses"] = "line"
    scale: float = 1.0
    combine: Combine | None = None


class Points(msgspec.Struct, frozen=True):
    """Values over a parameter."""

    title: Words
    x_label: str
    unit: str
    series: tuple[Series, ...]
    log_x: bool = False
    log: bool = False
    levels: tuple[Level, ...] = ()
    low: float | None = 0.0
    high: float | None = None
    needs: tuple[Of, ...] = ()


class Bars(msgspec.Struct, frozen=True):
    """Bars side by side; a series' x is the place of a name."""

    title: Words
    x_label: str
    unit: str
    names: tuple[str, ...]
    series: tuple[Series, ...]
    levels: tuple[Level, ...] = ()
    low: float | None = 0.0
    high: float | None = None
    needs: tuple[Of, ...] = ()


AnyPanel: TypeAlias = Panel | Points | Bars


class Figure(msgspec.Struct, frozen=True):
    """A picture: rows of panels."""

    name: str
    """Of its files."""
    title: str
    panels: tuple[tuple[AnyPanel, ...], ...]

    def curves(self) -> Iterator[tuple[str, CurveOf]]:
        """Every curve that must be taken, with its experiment."""
        for panel in self._each():
            if isinstance(panel, Panel):
                for line in panel.lines:
                    yield line.experiment or panel.experiment, line.source

    def measures(self) -> Iterator[Of]:
        """Everything that must be measured."""
        for panel in self._each():
            yield from panel.needs
            for series in () if isinstance(panel, Panel) else panel.series:
                for _, sources in series.points:
                    if not isinstance(sources, float | int):
                        yield from needs(sources, series.measure)

    def experiments(self) -> frozenset[str]:
        """The experiments that it shows."""
        return frozenset(
            (*(key for key, _ in self.curves()), *(each.experiment for each in self.measures()))
        )

    def _each(self) -> Iterator[AnyPanel]:
        return (panel for row in self.panels for panel in row)


def both_laws(
    experiment: str,
    what: Measurement | Callable[[RunResult], Curve],
    how: How = "rate",
    *,
    step_s: float = 1.0,
    scale: float = 1.0,
    style: Literal["line", "dashed", "dots", "crosses"] = "line",
    suffix: str = "",
) -> tuple[Line, ...]:
    """One line for each law, of the experiments called ``NAME paper`` and ``NAME improved``."""
    return tuple(
        Line(label + suffix, what, how, step_s, scale, colour, f"{experiment} {law}", style)
        for law, (label, colour) in LAWS.items()
    )
