"""The figures of the Gryphon paper, drawn from our runs: both laws in one picture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any, Final

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from penstock.papers.gryphon.runs import Curve, Kept, recovery_s

LAWS: Final = {"paper": ("#b5651d", "paper's law"), "improved": ("#1f5fa8", "improved law")}
EXTENSIONS: Final = ("png", "svg")

Runs = dict[str, list[Kept]]


def draw_figures(runs: Runs, thresholds: list[float], out: Path) -> None:
    """Draw all figures for which there are runs; the first seed represents a run."""
    out.mkdir(parents=True, exist_ok=True)
    if "E1 paper" in runs:
        _e1(runs, out)
    if "E1 window" in runs:
        _nack_window(runs, out)
    if "E2 paper" in runs:
        _e2(runs, out)
    if "E3 paper" in runs:
        _e3(runs, out)
    if f"E4 {thresholds[0]} paper" in runs:
        _e4(runs, thresholds, out)
    if "collapse 1" in runs:
        _collapses(runs, out)


def _both(runs: Runs, experiment: str) -> Iterable[tuple[str, str, Kept]]:
    for law, (colour, label) in LAWS.items():
        yield colour, label, runs[f"{experiment} {law}"][0]


def _e1(runs: Runs, out: Path) -> None:
    figure, axes = plt.subplots(3, 1, figsize=(9, 8), sharex=True, layout="constrained")
    for colour, label, kept in _both(runs, "E1"):
        _plot(axes[0], kept.published, colour, label)
        _plot(axes[1], kept.delivered["s2"], colour, label)
        _plot(axes[2], kept.queue_bytes["pb->ib"], colour, label, scale=1e-3)
    _name(axes[0], "publication, msg/s", "E1: a link failure of 120 s (paper's Fig. 7)")
    _name(axes[1], "SB2, msg/s")
    _name(axes[2], "queue PB-IB, kB", seconds=True)
    for axis in axes:
        axis.axvspan(30, 150, color="0.93", zorder=0)
    _save(figure, out, "gryphon-e1")


def _nack_window(runs: Runs, out: Path) -> None:
    figure, axis = plt.subplots(figsize=(9, 3.2), layout="constrained")
    kept = runs["E1 window"][0]
    end = 150 + recovery_s(kept.lag_s["sb2"], 150)
    window = [(at, value) for at, value in kept.nack_window_ms["sb2"] if 145 <= at <= end + 5]
    _plot(axis, window, *LAWS["paper"])
    _name(axis, "NACK window, tick ms", "E1 with PB-IB at 500 KB/s (paper's Fig. 8)", seconds=True)
    _save(figure, out, "gryphon-e1-nack-window")


def _e2(runs: Runs, out: Path) -> None:
    figure, axes = plt.subplots(3, 1, figsize=(9, 8), sharex=True, layout="constrained")
    for colour, label, kept in _both(runs, "E2"):
        _plot(axes[0], kept.published, colour, label)
        _plot(axes[1], kept.queue_bytes["ib->sb1"], colour, label, scale=1e-3)
        at, value = zip(*kept.alerts_nonrecovering, strict=True)
        axes[2].scatter(at, value, s=6, color=colour, label=label)
    for start, capacity in ((30, 167), (150, 417), (270, 167)):
        axes[0].hlines(capacity, start, start + 120, colors="0.4", linestyles="dotted")
    _name(axes[0], "publication, msg/s", "E2: a limit that changes (paper's Figs. 9 to 11)")
    _name(axes[1], "queue IB-SB1, kB")
    _name(axes[2], "alerts, tick s/s", seconds=True)
    _save(figure, out, "gryphon-e2")


def _e3(runs: Runs, out: Path) -> None:
    figure, axes = plt.subplots(3, 1, figsize=(9, 8), sharex=True, layout="constrained")
    for colour, label, kept in _both(runs, "E3"):
        _plot(axes[0], kept.published, colour, label)
        _plot(axes[1], kept.horizon_rate["sb5"], colour, label)
        for alerts, marker in ((kept.alerts_nonrecovering, "."), (kept.alerts_recovering, "x")):
            if alerts:
                at, value = zip(*alerts, strict=True)
                axes[2].scatter(at, value, s=10, marker=marker, color=colour, linewidths=0.6)
    axes[1].axhline(1.5, color="0.4", linestyle="dotted")
    axes[1].set_ylim(0, 8)
    axes[2].set_ylim(0, 4)
    _name(axes[0], "publication, msg/s", "E3: limits and a failure (paper's Figs. 13 to 15)")
    _name(axes[1], "SB5 horizon, tick s/s")
    _name(axes[2], "alerts: live ·, recovering ×", seconds=True)
    for axis in axes:
        axis.axvspan(150, 270, color="0.93", zorder=0)
    _save(figure, out, "gryphon-e3")


def _e4(runs: Runs, thresholds: list[float], out: Path) -> None:
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    for law, (colour, label) in LAWS.items():
        times = [
            [recovery_s(kept.lag_s["sb2"], 130) for kept in runs[f"E4 {each} {law}"]]
            for each in thresholds
        ]
        finite = [[value for value in values if value < 1000] for values in times]
        shown = [(each, values) for each, values in zip(thresholds, finite, strict=True) if values]
        x = [each for each, _ in shown]
        axis.plot(x, [median(values) for _, values in shown], "o-", color=colour, label=label)
        low = [min(values) for _, values in shown]
        axis.fill_between(x, low, [max(values) for _, values in shown], color=colour, alpha=0.15)
    axis.axhline(40.8, color="0.4", linestyle="dotted", label="nothing published at all")
    axis.set_xlabel("threshold Δt_rec, tick s/s")
    axis.set_ylim(bottom=0)
    _name(axis, "recovery, s", "E4: recovery time against the threshold (paper's Fig. 16)")
    _save(figure, out, "gryphon-e4")


def _collapses(runs: Runs, out: Path) -> None:
    figure, axes = plt.subplots(2, 1, figsize=(9, 6), layout="constrained")
    for axis, name, title in (
        (axes[0], "collapse 1", "a thin link to SB1, no control"),
        (axes[1], "collapse 2", "an outage of SB2's link, no control"),
    ):
        kept = runs[name][0]
        _plot(axis, kept.delivered["s1"], "#3a7d44", "SB1")
        _plot(axis, kept.delivered["s2"], "#8a4f7d", "SB2")
        _name(axis, "msg/s", title, seconds=True)
    _save(figure, out, "gryphon-collapses")


def _plot(axis: Any, curve: Curve, colour: str, label: str, scale: float = 1.0) -> None:
    if curve:
        at, value = zip(*curve, strict=True)
        axis.plot(at, [scale * each for each in value], color=colour, label=label, linewidth=1)


def _name(axis: Any, what: str, title: str = "", *, seconds: bool = False) -> None:
    axis.set_ylabel(what)
    axis.grid(alpha=0.3)
    if title:
        axis.set_title(title, loc="left")
    if seconds:
        axis.set_xlabel("seconds")
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc="upper right", fontsize="small")


def _save(figure: Any, out: Path, name: str) -> None:
    for extension in EXTENSIONS:
        figure.savefig(out / f"{name}.{extension}", dpi=110)
    plt.close(figure)
