"""The figures of a report, as SVG inside the page."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from penstock.spark.report.report import Fault, Point, Report

MAX_RUNS_DRAWN: Final = 6
"""As many colours as can be told apart."""

MAX_CURVES: Final = 6
"""The curves with the largest values of one run are drawn."""

WORTH_A_BAR: Final = 0.01
"""Links that carry only acknowledgements are not shown."""

COLOURS: Final = ("#1f5fa8", "#b5651d", "#3a7d44", "#8a4f7d", "#b03a48", "#5a5a5a")
STYLES: Final = ("-", "--", ":", "-.")
WIDTH_IN: Final = 9.0
HEIGHT_IN: Final = 2.8


class Figure:
    __slots__ = ("svg", "title")

    def __init__(self, title: str, svg: str) -> None:
        self.title = title
        self.svg = svg


def figures(report: Report) -> list[Figure]:
    """All figures for which the report has values."""
    runs = [summary.run for summary in report.runs][:MAX_RUNS_DRAWN]
    wanted = (
        ("published_messages", "Published, messages a second", 1.0),
        ("delivered_messages", "Delivered, messages a second", 1.0),
        ("doubt_horizon_lag_s", "Lag of each edge, seconds", 1.0),
        ("queue_bytes", "Bytes queued on the links, kB", 1e-3),
    )
    found = []
    for metric, title, scale in wanted:
        points = [point for point in report.series if point.metric == metric and point.run in runs]
        if any(point.value for point in points):
            found.append(Figure(title, _draw(runs, points, report.faults, scale)))
    if any((link.utilisation or 0.0) >= WORTH_A_BAR for link in report.links):
        found.append(Figure("Utilisation of links with a limit", _utilisation(runs, report)))
    return found


def _draw(runs: Sequence[str], points: list[Point], faults: list[Fault], scale: float) -> str:
    figure, axis = plt.subplots(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
    for number, run in enumerate(runs):
        curves = _curves([point for point in points if point.run == run])
        for place, (name, curve) in enumerate(curves):
            label = " ".join(part for part in (run if len(runs) > 1 else "", name) if part)
            # The curves of a single run differ in colour; each of several runs has one colour.
            shade = number if len(runs) > 1 else place
            style = STYLES[place % len(STYLES)] if len(runs) > 1 else "-"
            at = [point.at_s for point in curve]
            values = [scale * point.value for point in curve]
            colour = COLOURS[shade % len(COLOURS)]
            axis.plot(at, values, style, color=colour, label=label or run, linewidth=1.2)
    for at_s in sorted({fault.at_s for fault in faults if fault.run == runs[0]}):
        axis.axvline(at_s, color="0.6", linewidth=0.8, linestyle="dotted", zorder=0)
    axis.set_xlabel("seconds")
    axis.set_ylim(bottom=0)
    finished(axis)
    return svg_of(figure)


def _curves(points: list[Point]) -> list[tuple[str, list[Point]]]:
    """The curves of one run, those with the largest values first."""
    by_name: dict[str, list[Point]] = {}
    for point in points:
        by_name.setdefault(point.name, []).append(point)
    largest = sorted(by_name.items(), key=lambda item: -max(each.value for each in item[1]))
    return [item for item in largest[:MAX_CURVES] if any(each.value for each in item[1])]


def _utilisation(runs: Sequence[str], report: Report) -> str:
    limited = [link for link in report.links if link.utilisation is not None and link.run in runs]
    names = sorted({link.link for link in limited if (link.utilisation or 0.0) >= WORTH_A_BAR})
    height = max(1.6, 0.7 + 0.22 * len(names) * len(runs))
    figure, axis = plt.subplots(figsize=(WIDTH_IN, height), layout="constrained")
    thickness = 0.8 / len(runs)
    for number, run in enumerate(runs):
        own = {link.link: link.utilisation or 0.0 for link in limited if link.run == run}
        places = [place + number * thickness for place in range(len(names))]
        values = [100 * own.get(name, 0.0) for name in names]
        colour = COLOURS[number % len(COLOURS)]
        axis.barh(places, values, thickness, color=colour, label=run, align="edge")
    axis.set_yticks([place + 0.4 for place in range(len(names))], names)
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_xlabel("% of the bandwidth")
    finished(axis)
    return svg_of(figure)


def finished(axis: Any) -> None:
    """Apply the common grid, frame and legend."""
    axis.grid(alpha=0.3)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    if len(axis.get_legend_handles_labels()[0]) > 1:
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="x-small", frameon=False)


def svg_of(figure: Any) -> str:
    """A figure as an SVG element; the same figure always gives the same text."""
    written = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "penstock", "svg.fonttype": "none"}):
        figure.savefig(written, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = written.getvalue()
    # An element inside a page has no prologue, and takes the width of the page.
    text = text[text.index("<svg") :]
    return re.sub(r' width="[^"]*" height="[^"]*"', "", text, count=1)
