"""The figure of a sweep: one measure over one parameter, a curve for each choice of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib import pyplot as plt

from penstock.spark.report.figures import COLOURS, finished
from penstock.spark.sweep.summary import Estimate

EXTENSIONS: Final = ("png", "svg")
DOTS_AN_INCH: Final = 110
SIZE_IN: Final = (8.0, 4.2)


def draw_sweep(
    sweep: str,
    measure: str,
    estimates: Sequence[Estimate],
    parameters: Mapping[str, Sequence[Any]],
    out: Path,
) -> list[Path]:
    """Draw a measure; returns the files, none if no run has a value for it."""
    own = [each for each in estimates if each.measure == measure]
    if not own:
        return []
    across = axis_of(parameters)
    figure, axis = plt.subplots(figsize=SIZE_IN, layout="constrained")
    for number, (label, curve) in enumerate(curves_of(own, across, parameters).items()):
        x = [_place(each, across, parameters) for each in curve]
        colour = COLOURS[number % len(COLOURS)]
        axis.plot(x, [each.median for each in curve], "o-", color=colour, label=label)
        low, high = [each.low for each in curve], [each.high for each in curve]
        axis.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    if across and not _numeric(parameters[across]):
        axis.set_xticks(range(len(parameters[across])), [str(each) for each in parameters[across]])
    axis.set_xlabel(across)
    axis.set_ylabel(measure)
    axis.set_ylim(bottom=0)
    axis.set_title(f"{sweep}: median, 5th to 95th percentile", loc="left", fontsize="medium")
    finished(axis)
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{sweep}-{measure}.{extension}" for extension in EXTENSIONS]
    for path in paths:
        figure.savefig(path, dpi=DOTS_AN_INCH)
    plt.close(figure)
    return paths


def axis_of(parameters: Mapping[str, Sequence[Any]]) -> str:
    """The parameter of the x axis: the numeric one with the most values, or else any."""
    if not parameters:
        return ""
    return max(parameters, key=lambda name: (_numeric(parameters[name]), len(parameters[name])))


def _numeric(values: Sequence[Any]) -> bool:
    return not any(isinstance(value, str | bool) for value in values)


def _place(estimate: Estimate, across: str, parameters: Mapping[str, Sequence[Any]]) -> float:
    if not across:
        return 0.0
    value = estimate.parameters[across]
    values = parameters[across]
    return float(value) if _numeric(values) else float(list(values).index(value))


def curves_of(
    estimates: Sequence[Estimate], across: str, parameters: Mapping[str, Sequence[Any]]
) -> dict[str, list[Estimate]]:
    """The estimates along the axis, for each combination of the other varying parameters."""
    others = [name for name, values in parameters.items() if name != across and len(values) > 1]
    curves: dict[str, list[Estimate]] = {}
    for each in estimates:
        parts = [f"{name.rpartition('.')[2]} = {each.parameters[name]}" for name in others]
        curves.setdefault(", ".join(parts), []).append(each)
    return curves
