"""The figures of the content-aware paper: no control, the paper's law, the improved one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from penstock.papers.content_aware.large import LargeRun
from penstock.papers.content_aware.records import RecordEstimates
from penstock.papers.content_aware.result import DatagramRun
from penstock.papers.content_aware.runs import (
    CAPACITY,
    FAIRNESS,
    LOAD,
    TCP,
    LargeRuns,
    Runs,
)
from penstock.papers.content_aware.scenario import FLOWS, IMPROVED, UNCONTROLLED, load

SHOWN: Final = (UNCONTROLLED.name, FLOWS.name, IMPROVED.name)
PUBLISHED, RECEIVED, MISSED, FAIR = "#9a9a9a", "#1f6fb4", "#d1495b", "#2b2b2b"
PAIRS: Final = ("#1f6fb4", "#e08e0b", "#2e8b57")
SMOOTH_BUCKETS: Final = 4
"""Lines are means over a second."""


def draw_all(runs: Runs, large: LargeRuns, records: RecordEstimates, out: Path) -> list[Path]:
    """Every figure, as PNG and SVG."""
    mpl.use("Agg")
    drawings = {
        "datagram-figure-5": _records(records),
        "datagram-figure-7": _rates(runs, LOAD, "Figure 7: variable load, 500 Kbps"),
        "datagram-figure-8": _rates(runs, CAPACITY, "Figure 8: 1 and 2 Mbps in turns"),
        "datagram-figure-9": _fairness(runs),
        "datagram-figure-10": _tcp(runs),
        "datagram-figure-11-12": _large(large),
    }
    paths = []
    for name, figure in drawings.items():
        for suffix in ("png", "svg"):
            paths.append(out / f"{name}.{suffix}")
            figure.savefig(paths[-1], dpi=110)
    return paths


def _figure(
    rows: int, columns: int, title: str, sharey: Literal["row", "col"] = "row"
) -> tuple[Figure, Any]:
    figure = Figure(figsize=(4.4 * columns, 2.5 * rows + 0.6), layout="constrained")
    figure.suptitle(title, fontsize=11)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=sharey)
    for each in axes.flat:
        each.grid(color="#e4e4e4", linewidth=0.7)
        each.set_axisbelow(True)
        each.tick_params(labelsize=8)
    return figure, axes


def _per_second(counts: Sequence[int], run: DatagramRun) -> np.ndarray[Any, Any]:
    per_second = np.asarray(counts, float) * 1e9 / run.bucket_ns
    window = np.ones(SMOOTH_BUCKETS) / SMOOTH_BUCKETS
    return np.convolve(per_second, window, mode="same")


def _times(run: DatagramRun) -> np.ndarray[Any, Any]:
    return np.arange(len(run.published)) * run.bucket_ns / 1e9


def _records(records: RecordEstimates) -> Figure:
    title = "Figure 5: what records of k messages let a receiver estimate"
    figure, axes = _figure(3, 2, title, sharey="col")
    # Before the first loss there is no limit to show.
    axes[0, 1].set_ylim(0, 2 * max(max(each[10:]) for each in records.rates_msgs_per_s.values()))
    for line, (size, name) in enumerate(((64, "∞"), (5, "5"), (2, "2"))):
        loss, rate = axes[line]
        loss.plot(records.loss_event_rates[size], color=MISSED, linewidth=1)
        rate.plot(records.rates_msgs_per_s[size], color=RECEIVED, linewidth=1)
        loss.set_ylabel(f"k = {name}\nloss event rate", fontsize=8)
        rate.set_ylabel("TCP's rate (msg/s)", fontsize=8)
    for each in axes[-1]:
        each.set_xlabel("s", fontsize=8)
    return figure


def _rates(runs: Runs, scenario: str, title: str) -> Figure:
    figure, axes = _figure(2, len(SHOWN), title)
    for column, policy in enumerate(SHOWN):
        run = runs[scenario, policy][0]
        times = _times(run)
        top, bottom = axes[:, column]
        top.set_title(policy, fontsize=9)
        kbps = _per_second(run.carried_bytes, run) * 8 / 1000
        top.plot(times, kbps, color=RECEIVED, linewidth=1)
        bottom.plot(times, _per_second(run.published, run), color=PUBLISHED, label="published")
        for colour, counts, label in (
            (RECEIVED, run.pairs[0].received, "received"),
            (MISSED, run.pairs[0].missed, "missed"),
        ):
            bottom.plot(times, _per_second(counts, run), color=colour, linewidth=1, label=label)
        bottom.set_xlabel("s", fontsize=8)
    axes[0, 0].set_ylabel("bottleneck (Kbps)", fontsize=8)
    axes[1, 0].set_ylabel("messages/s", fontsize=8)
    axes[1, 0].legend(fontsize=8)
    return figure


def _fairness(runs: Runs) -> Figure:
    figure, axes = _figure(1, len(SHOWN), "Figure 9: three pairs; the dotted lines are fair shares")
    scenario = load(FAIRNESS)
    for column, policy in enumerate(SHOWN):
        run = runs[FAIRNESS, policy][0]
        axis = axes[0, column]
        axis.set_title(policy, fontsize=9)
        for pair, colour in enumerate(PAIRS):
            received = _per_second(run.pairs[pair].received, run)
            demand = scenario.pairs[pair].matching * 1000
            axis.plot(_times(run), received, color=colour, linewidth=1, label=f"{demand:.0f} msg/s")
        for step, end_s in ((scenario.bandwidth[1], 200), (scenario.bandwidth[2], 300)):
            share = scenario.capacity_msgs_per_s(step.at_s) / len(PAIRS)
            axis.hlines(share, step.at_s, end_s, color=FAIR, linestyle=":", linewidth=1)
        axis.set_xlabel("s", fontsize=8)
    axes[0, 0].set_ylabel("received messages/s", fontsize=8)
    axes[0, 0].legend(fontsize=8, title="wanted", title_fontsize=8)
    return figure


def _tcp(runs: Runs) -> Figure:
    figure, axes = _figure(1, len(SHOWN), "Figure 10: beside a TCP flow from 30 s on, 1 Mbps")
    for column, policy in enumerate(SHOWN):
        run = runs[TCP, policy][0]
        axis = axes[0, column]
        axis.set_title(policy, fontsize=9)
        flow = _per_second(run.pairs[0].received, run) * run.message_bytes * 8 / 1000
        tcp = _per_second(run.tcp_bytes, run) * 8 / 1000
        axis.plot(_times(run), flow, color=RECEIVED, linewidth=1, label="publish/subscribe")
        axis.plot(_times(run), tcp, color=MISSED, linewidth=1, label="TCP")
        axis.axhline(500, color=FAIR, linestyle=":", linewidth=1)
        axis.set_xlabel("s", fontsize=8)
    axes[0, 0].set_ylabel("Kbps", fontsize=8)
    axes[0, 0].legend(fontsize=8)
    return figure


def _large(large: LargeRuns) -> Figure:
    figure, axes = _figure(3, len(SHOWN), "Figures 11 and 12: 8 brokers, 760 clients")
    for column, policy in enumerate(SHOWN):
        run: LargeRun = large[policy][0]
        rates, reports, table = axes[:, column]
        rates.set_title(policy, fontsize=9)
        rates.plot(run.published, color=PUBLISHED, label="published")
        rates.plot(run.received, color=RECEIVED, label="delivered")
        rates.plot(run.missed, color=MISSED, label="missed")
        reports.plot(run.feedback, color=RECEIVED)
        table.plot(run.flows, color=RECEIVED)
        table.set_xlabel("s", fontsize=8)
    for axis, label in zip(
        axes[:, 0], ("messages/s", "reports/s to a publisher", "flows in its table"), strict=True
    ):
        axis.set_ylabel(label, fontsize=8)
    axes[0, 0].legend(fontsize=8)
    return figure
