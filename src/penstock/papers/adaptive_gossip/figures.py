"""The paper's figures, with both laws in each picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from penstock.papers.adaptive_gossip.experiments import (
    ADAPTIVE_BUFFERS,
    DEGRADATION_RATES,
    FIRST_CHANGE_ROUND,
    IDEAL_BUFFERS,
    SCALE_SIZES,
    SECOND_CHANGE_ROUND,
    Results,
    ideals,
)

COLOURS: Final = {"none": "#888888", "paper": "#1f6fb4", "improved": "#d1495b", "ideal": "#2b2b2b"}
NAMES: Final = {"none": "plain lpbcast", "paper": "paper's law", "improved": "improved law"}
LAWS: Final = ("none", "paper", "improved")
MARKERS: Final = {"none": "s", "paper": "o", "improved": "D"}


def draw_all(results: Results, out: Path) -> list[Path]:
    """Every figure, as PNG and SVG."""
    mpl.use("Agg")
    drawings: dict[str, Callable[[Results], Figure]] = {
        "gossip-figure-2": _degradation,
        "gossip-figure-4-6": _rates,
        "gossip-figure-7-8": _reliability,
        "gossip-figure-9": _dynamic,
        "gossip-scale": _scale,
    }
    paths = []
    for name, draw in drawings.items():
        figure = draw(results)
        for suffix in ("png", "svg"):
            paths.append(out / f"{name}.{suffix}")
            figure.savefig(paths[-1], dpi=110)
    return paths


def _medians(results: Results, field: str, keys: list[tuple[str | float, ...]]) -> list[float]:
    return [median(getattr(each, field) for each in results[key]) for key in keys]


def _figure(columns: int, title: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(4.6 * columns, 3.8), layout="constrained")
    figure.suptitle(title, fontsize=11)
    axes = figure.subplots(1, columns, squeeze=False)[0]
    for each in axes:
        each.grid(color="#e4e4e4", linewidth=0.7)
        each.set_axisbelow(True)
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _degradation(results: Results) -> Figure:
    figure, (left, right) = _figure(2, "Figure 2: reliability falls with the rate (60 buffers)")
    keys: list[tuple[str | float, ...]] = [("degradation", rate) for rate in DEGRADATION_RATES]
    receivers = 100 * np.array(_medians(results, "receivers", keys))
    left.plot(DEGRADATION_RATES, receivers, "s-", color=COLOURS["none"])
    left.axhline(95, color=COLOURS["ideal"], linewidth=0.8, linestyle=":")
    left.set(xlabel="input rate (msg/s)", ylabel="receivers (%)", ylim=(0, 102))
    ages = _medians(results, "drop_age", keys)
    right.plot(DEGRADATION_RATES, ages, "s-", color=COLOURS["none"], label="measured")
    right.plot((10, 30, 60), (8.5, 3.7, 2.7), "kx", markersize=8, label="paper")
    right.set(xlabel="input rate (msg/s)", ylabel="age of drops (hops)", ylim=(0, None))
    right.legend(frameon=False)
    return figure


def _ideal_points(results: Results, name: str, size: int) -> tuple[float, float]:
    found = ideals(results, name, size)
    return median(rate for rate, _ in found), median(age for _, age in found)


def _rates(results: Results) -> Figure:
    figure, (left, right) = _figure(2, "Figures 4 and 6: ideal, offered and allowed rates")
    points = [_ideal_points(results, "ideal", buffer) for buffer in IDEAL_BUFFERS]
    rates = [rate for rate, _ in points]
    left.plot(IDEAL_BUFFERS, rates, "-", color=COLOURS["ideal"], label="ideal (95 % receivers)")
    left.axhline(30, color=COLOURS["none"], linewidth=0.9, linestyle="--", label="offered")
    for law in LAWS[1:]:
        keys: list[tuple[str | float, ...]] = [("adaptive", law, each) for each in ADAPTIVE_BUFFERS]
        measured = _medians(results, "input_rate_msgs_per_s", keys)
        left.plot(
            ADAPTIVE_BUFFERS, measured, MARKERS[law] + "-", color=COLOURS[law], label=NAMES[law]
        )
    left.set(xlabel="buffer size (events)", ylabel="rate (msg/s)", ylim=(0, None))
    left.legend(frameon=False, fontsize=8)
    right.plot(IDEAL_BUFFERS, [age for _, age in points], "o-", color=COLOURS["ideal"])
    right.axhline(5.3, color=COLOURS["none"], linewidth=0.9, linestyle="--")
    right.annotate("paper: 5.3", (140, 5.16), fontsize=8, color="#555555")
    right.set(xlabel="buffer size (events)", ylabel="critical age (hops)", ylim=(4, 6.5))
    return figure


def _reliability(results: Results) -> Figure:
    figure, axes = _figure(4, "Figures 7 and 8: 30 msg/s offered, with and without adaptation")
    panels = (
        ("output_rate_msgs_per_s", "output rate (msg/s)", 1.0),
        ("drop_age", "age of drops (hops)", 1.0),
        ("receivers", "receivers (%)", 100.0),
        ("atomic", "atomic deliveries (%)", 100.0),
    )
    for axis, (field, label, factor) in zip(axes, panels, strict=True):
        for law in LAWS:
            keys: list[tuple[str | float, ...]] = [
                ("adaptive", law, each) for each in ADAPTIVE_BUFFERS
            ]
            values = factor * np.array(_medians(results, field, keys))
            style = MARKERS[law] + "-"
            axis.plot(ADAPTIVE_BUFFERS, values, style, color=COLOURS[law], label=NAMES[law])
        top = 103 if factor == 100.0 else None
        axis.set(xlabel="buffer size (events)", ylabel=label, ylim=(0, top))
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def _dynamic(results: Results) -> Figure:
    figure, (left, right) = _figure(2, "Figure 9: a third of the buffers 90 → 45 → 60, 20 msg/s")
    for law in LAWS:
        runs = results["dynamic", law]
        inputs = np.median([each.input_by_round for each in runs], axis=0)
        receivers = np.nanmedian([each.receivers_by_round for each in runs], axis=0)
        window = np.ones(5) / 5
        rounds = np.arange(len(inputs) - 4) + 2
        # Events of the last rounds have not had time to spread.
        shown = slice(0, len(rounds) - 15)
        left.plot(
            rounds[shown],
            np.convolve(inputs, window, "valid")[shown],
            color=COLOURS[law],
            label=NAMES[law],
            linewidth=1.2,
        )
        right.plot(
            rounds[shown],
            100 * np.convolve(receivers, window, "valid")[shown],
            color=COLOURS[law],
            linewidth=1.2,
        )
    for axis in (left, right):
        for change in (FIRST_CHANGE_ROUND, SECOND_CHANGE_ROUND):
            axis.axvline(change, color="#aaaaaa", linewidth=0.8, linestyle="--")
    right.axhline(95, color=COLOURS["ideal"], linewidth=0.8, linestyle=":")
    left.set(xlabel="round", ylabel="input rate (msg/s)", ylim=(0, 24))
    left.legend(frameon=False, fontsize=8, loc="lower left")
    right.set(xlabel="round", ylabel="receivers (%)", ylim=(85, 100.5))
    return figure


def _scale(results: Results) -> Figure:
    figure, (left, right) = _figure(2, "Scale: the critical age grows with the group")
    ages = [_ideal_points(results, "scale ideal", peers)[1] for peers in SCALE_SIZES]
    left.semilogx(SCALE_SIZES, ages, "o-", color=COLOURS["ideal"])
    left.axhspan(5, 7, color=COLOURS["paper"], alpha=0.12)
    left.annotate("the paper's marks", (70, 6.6), fontsize=8, color=COLOURS["paper"])
    left.set(xlabel="peers", ylabel="critical age (hops)", ylim=(4, 11))
    lines = (
        ("paper", "paper's law, marks 5 and 7", COLOURS["paper"], "o-"),
        ("by size", "paper's law, marks by size", COLOURS["paper"], "o--"),
        ("improved", "improved law", COLOURS["improved"], "D-"),
    )
    for key, label, colour, style in lines:
        keys: list[tuple[str | float, ...]] = [("scale", key, peers) for peers in SCALE_SIZES]
        values = 100 * np.array(_medians(results, "receivers", keys))
        right.semilogx(SCALE_SIZES, values, style, color=colour, label=label)
    right.axhline(95, color=COLOURS["ideal"], linewidth=0.8, linestyle=":")
    right.set(xlabel="peers", ylabel="receivers (%)", ylim=(75, 100))
    right.legend(frameon=False, fontsize=8, loc="lower left")
    return figure
