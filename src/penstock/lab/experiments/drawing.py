"""Draws the figures of the papers, as PNG and SVG.

Every panel has axis labels and a legend.  Curves over time show
the scenario's faults and changes as thin labelled lines.  Panels of one row with the same unit have
the same height, so that laws side by side can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Picture

from penstock.lab.experiments.figure import COLOURS, AnyPanel, Bars, Figure, Panel, Points, Series
from penstock.lab.experiments.marks import Mark
from penstock.lab.experiments.results import Results, needs

KINDS: Final = ("png", "svg")
DOTS_AN_INCH: Final = 110
WIDE_INCHES, COLUMN_INCHES, ROW_INCHES, TITLE_INCHES = 9.0, 4.7, 2.6, 0.5
"""The width of a single column and of each of several, and the heights."""

HEADROOM: Final = 0.12
"""The share of the height that is left above and below the values, for the legend."""

MOST_LABELS: Final = 10
"""More marks than this are shown without their labels."""
LABEL_CHARACTERS: Final = 34

MOST_MARKERS: Final = 30
"""A line of more points than this has no markers."""

STYLES: Final[dict[str, dict[str, Any]]] = {
    "line": {"linestyle": "-", "linewidth": 1.1},
    "dashed": {"linestyle": "--", "linewidth": 1.1},
    "dots": {"linestyle": "", "marker": ".", "markersize": 4},
    "crosses": {"linestyle": "", "marker": "x", "markersize": 5, "markeredgewidth": 0.8},
}


def draw(figure: Figure, results: Results, out: Path) -> list[Path]:
    """Draw what was run of a figure; the same results always give the same files."""
    rows, columns = len(figure.panels), max(map(len, figure.panels))
    width = WIDE_INCHES if columns == 1 else COLUMN_INCHES * columns
    picture = Picture((width, ROW_INCHES * rows + TITLE_INCHES), layout="constrained")
    FigureCanvasAgg(picture)
    picture.suptitle(figure.title, fontsize=11)
    axes = picture.subplots(rows, columns, squeeze=False)
    for number, (panels, row) in enumerate(zip(figure.panels, axes, strict=True)):
        for axis in row[len(panels) :]:
            axis.set_visible(False)
        below = figure.panels[number + 1] if number + 1 < rows else ()
        for column, (panel, axis) in enumerate(zip(panels, row, strict=False)):
            _draw_panel(panel, axis, results)
            if column >= len(below) or below[column].x_label != panel.x_label:
                axis.set_xlabel(panel.x_label, fontsize=8)
        _same_heights(panels, row)
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{figure.name}.{kind}" for kind in KINDS]
    with rc_context({"svg.hashsalt": "penstock", "svg.fonttype": "none"}):
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else None
            picture.savefig(path, dpi=DOTS_AN_INCH, metadata=metadata)
    return paths


def _draw_panel(panel: AnyPanel, axis: Any, results: Results) -> None:
    if isinstance(panel, Panel):
        _draw_curves(panel, axis, results)
    elif isinstance(panel, Points):
        _draw_points(panel, axis, results)
    else:
        _draw_bars(panel, axis, results)
    for level in panel.levels:
        ends = (axis.get_xlim()[0], axis.get_xlim()[1])
        low = ends[0] if level.from_x is None else level.from_x
        high = ends[1] if level.to_x is None else level.to_x
        look = {"colors": "0.35", "linestyles": "dotted", "linewidth": 1.0}
        axis.hlines(level.value, low, high, label=level.label or None, **look)
        axis.set_xlim(ends)
    if all(each.experiment in results for each in panel.needs):
        title = panel.title(results) if callable(panel.title) else panel.title
        axis.set_title(title, loc="left", fontsize=9)
    axis.set_ylabel(panel.unit, fontsize=8)
    axis.tick_params(labelsize=8)
    axis.grid(color="0.9", linewidth=0.7)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.margins(y=HEADROOM)
    axis.set_ylim(panel.low if axis.get_yscale() == "linear" else None, panel.high)
    handles, labels = axis.get_legend_handles_labels()
    if labels:
        axis.legend(handles, labels, fontsize=7, loc="best", framealpha=0.85)


def _draw_curves(panel: Panel, axis: Any, results: Results) -> None:
    if panel.log:
        axis.set_yscale("log")
    colours = cycle(COLOURS)
    over_time = panel.x_label == "seconds"
    shown = []
    for line in panel.lines:
        experiment = line.experiment or panel.experiment
        end_s = results.end_s(experiment) if over_time else float("inf")
        points = results.curve(experiment, line.source)
        curve = [(x, line.scale * y) for x, y in points if panel.from_s <= x < end_s]
        colour = line.colour or next(colours)
        if not curve:
            continue
        shown.append(experiment)
        at, values = zip(*curve, strict=True)
        if line.style == "bars":
            axis.bar(at, values, color=colour, label=line.label)
        else:
            axis.plot(at, values, color=colour, label=line.label, **STYLES[line.style])
    if over_time and shown:
        end_s = max(results.end_s(each) for each in shown)
        axis.set_xlim(panel.from_s, end_s if panel.to_s is None else panel.to_s)
        if panel.marks:
            _draw_marks(axis, results.marks(shown[0]))


def _draw_marks(axis: Any, marks: Sequence[Mark]) -> None:
    low, high = axis.get_xlim()
    shown = [each for each in marks if low <= each.at_s <= high]
    for mark in shown:
        axis.axvline(mark.at_s, color="0.6", linewidth=0.8, linestyle="dotted", zorder=1)
        if len(shown) <= MOST_LABELS:
            label = mark.label
            if len(label) > LABEL_CHARACTERS:
                label = f"{label[: LABEL_CHARACTERS - 1]}…"
            axis.annotate(
                label,
                (mark.at_s, 0.97),
                xycoords=("data", "axes fraction"),
                xytext=(2, 0),
                textcoords="offset points",
                rotation=90,
                verticalalignment="top",
                fontsize=6,
                color="0.35",
                zorder=1,
            )


def _values(series: Series, results: Results) -> list[tuple[float, list[float]]]:
    """For each x the values of all seeds, as far as they were run and are finite."""
    found = []
    for x, sources in series.points:
        if isinstance(sources, float | int):
            found.append((x, [float(sources)]))
            continue
        needed = needs(sources, series.measure)
        if all(each.experiment in results for each in needed):
            values = results.combined(sources, series.measure, series.combine)
            finite = [series.scale * each for each in values if abs(each) < float("inf")]
            if finite:
                found.append((x, finite))
    return found


def _draw_points(panel: Points, axis: Any, results: Results) -> None:
    if panel.log_x:
        axis.set_xscale("log")
    if panel.log:
        axis.set_yscale("log")
    colours = cycle(COLOURS)
    for series in panel.series:
        colour = series.colour or next(colours)
        points = _values(series, results)
        x, middle = [at for at, _ in points], [median(values) for _, values in points]
        look = {**STYLES[series.style]}
        if look["linestyle"] and len(points) <= MOST_MARKERS:
            look |= {"marker": "o", "markersize": 3.5}
        axis.plot(x, middle, color=colour, label=series.label, **look)
        low, high = [min(values) for _, values in points], [max(values) for _, values in points]
        axis.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def _draw_bars(panel: Bars, axis: Any, results: Results) -> None:
    width = 0.8 / len(panel.series)
    colours = cycle(COLOURS)
    for number, series in enumerate(panel.series):
        points = _values(series, results)
        offset = (number - (len(panel.series) - 1) / 2) * width
        places = [x + offset for x, _ in points]
        heights = [median(values) for _, values in points]
        colour = series.colour or next(colours)
        axis.bar(places, heights, width, color=colour, label=series.label)
    axis.set_xticks(range(len(panel.names)), panel.names)


def _same_heights(panels: Sequence[AnyPanel], axes: Any) -> None:
    """Panels side by side with one unit, and no bounds of their own, have one scale."""
    units = {(panel.unit, panel.low) for panel in panels}
    if len(units) == 1 and len(panels) > 1 and all(panel.high is None for panel in panels):
        limits = [axis.get_ylim() for axis, _ in zip(axes, panels, strict=False)]
        low, high = min(each for each, _ in limits), max(each for _, each in limits)
        for axis, _ in zip(axes, panels, strict=False):
            axis.set_ylim(low, high)
