"""The paper's figures, with both laws in each picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from penstock.papers.cost_benefit.plans import (
    BENEFITS,
    DELAYED,
    LAWS,
    LOTTERY,
    MANY,
    SCENARIO_1,
    SCENARIO_2,
    SCENARIO_3,
    STARS,
    TCP,
)
from penstock.papers.cost_benefit.result import MulticastResult
from penstock.papers.cost_benefit.runs import MANY_SENDERS, STAR_SENDERS, Results

NAMES: Final = {"paper": "paper's law", "improved": "improved law"}
LAW_COLOURS: Final = {"paper": "#1f6fb4", "improved": "#d1495b"}
FLOW_COLOURS: Final = ("#1f6fb4", "#d1495b", "#2a9d6f", "#e09f3e", "#7b5ea7", "#5f6b6d")
PANEL_INCHES: Final = (4.6, 3.1)


def draw_all(results: Results, out: Path) -> list[Path]:
    """Every figure, as PNG and SVG."""
    mpl.use("Agg")
    drawings: dict[str, Callable[[Results], Figure]] = {
        "multicast-figure-2": _lottery,
        "multicast-figures-4-and-5": _scenario_1,
        "multicast-figure-7": _fairness,
        "multicast-figures-8-and-9": _delayed,
        "multicast-figures-11-and-12": _chain,
        "multicast-figure-14": _senders,
        "multicast-benefits": _benefits,
    }
    paths = []
    for name, draw in drawings.items():
        figure = draw(results)
        figure.tight_layout()
        for kind in ("png", "svg"):
            path = out / f"{name}.{kind}"
            figure.savefig(path, dpi=120)
            paths.append(path)
    return paths


def _panels(rows: int, columns: int, title: str, **options: Any) -> tuple[Figure, Any]:
    width, height = PANEL_INCHES
    figure = Figure(figsize=(width * columns, height * rows + 0.4))
    panels = figure.subplots(rows, columns, squeeze=False, **options)
    figure.suptitle(title)
    for panel in panels.flat:
        panel.grid(alpha=0.3)
    return figure, panels


def _series(panel: Any, series: dict[str, list[float]], names: dict[str, str]) -> None:
    for (key, name), colour in zip(names.items(), FLOW_COLOURS, strict=False):
        values = series.get(key)
        if values:
            panel.plot(range(len(values)), values, label=name, color=colour, linewidth=1)
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=0)


def _buffers(panel: Any, result: MulticastResult, links: tuple[str, ...]) -> None:
    _series(panel, result.highest_by_second, {link: link.replace("->", "–") for link in links})
    panel.set_xlabel("seconds")


def _scenario_1(results: Results) -> Figure:
    """Throughput above, the highest buffer of each second below."""
    figure, panels = _panels(
        2, 2, "Scenario 1: two bottlenecks, 20 senders each (Figures 4 and 5)", sharex=True
    )
    for column, law in enumerate(LAWS):
        result = results[SCENARIO_1[law]][0]
        _series(panels[0][column], result.sent_by_second, {"acfg": "S_acfg", "cdg": "S_cdg"})
        _buffers(panels[1][column], result, ("E->F", "B->D"))
        panels[0][column].set_title(NAMES[law], fontsize=10)
    _same_height(panels[0])
    _same_height(panels[1])
    panels[0][0].set_ylabel("Mbit/s")
    panels[1][0].set_ylabel("packets waiting")
    panels[0][1].legend(loc="center right", fontsize=8)
    panels[1][1].legend(fontsize=8)
    return figure


def _same_height(panels: Any) -> None:
    highest = max(panel.get_ylim()[1] for panel in panels)
    for panel in panels:
        panel.set_ylim(0, highest)


def _fairness(results: Results) -> Figure:
    """The rate of each of the 20 clients of a class."""
    figure, panels = _panels(1, 2, "Scenario 2: what each client of S_acfg sends (Figure 7)")
    for panel, law in zip(panels[0], LAWS, strict=True):
        result = results[SCENARIO_2[law]][0]
        rates = 1000 * np.array(result.clients_mbit_per_s["acfg"])
        panel.bar(range(1, len(rates) + 1), rates, color=LAW_COLOURS[law])
        panel.axhline(50, color="black", linewidth=0.8, linestyle="--")
        variation = 100 * result.variation("acfg")
        panel.set_title(f"{NAMES[law]}: variation {variation:.2g} %", fontsize=10)
        panel.set_xticks([1, 5, 10, 15, 20])
        panel.set_xlabel("client")
    _same_height(panels[0])
    panels[0][0].set_ylabel("Kbit/s")
    return figure


def _delayed(results: Results) -> Figure:
    """A second class starts, then the bottleneck is halved."""
    figure, panels = _panels(2, 2, "Scenario 2 with delayed senders (Figures 8 and 9)", sharex=True)
    for column, law in enumerate(LAWS):
        result = results[DELAYED[law]][0]
        _series(panels[0][column], result.sent_by_second, {"acfg": "S_acfg", "cdg": "S_cdg"})
        _buffers(panels[1][column], result, ("E->G",))
        panels[0][column].set_title(NAMES[law], fontsize=10)
    _same_height(panels[0])
    _same_height(panels[1])
    panels[0][0].set_ylabel("Mbit/s")
    panels[1][0].set_ylabel("packets waiting")
    panels[0][1].legend(fontsize=8)
    panels[1][1].legend(fontsize=8)
    return figure


def _chain(results: Results) -> Figure:
    """The chain under both laws, and with TCP connections from end to end."""
    figure, panels = _panels(1, 3, "Scenario 3: a chain of five links (Figures 11 and 12)")
    runs = [(NAMES[law], results[SCENARIO_3[law]][0]) for law in LAWS]
    runs.append(("end-to-end TCP", results[TCP][0]))
    flows = {name: name for name in ("AF", "AB", "BC", "CD", "DE", "EF")}
    for panel, (name, result) in zip(panels[0], runs, strict=True):
        _series(panel, result.sent_by_second, flows)
        panel.set_title(f"{name}: {result.total_mbit_per_s:.2f} Mbit/s at the end", fontsize=10)
        panel.set_xlabel("seconds")
    _same_height(panels[0])
    panels[0][0].set_ylabel("Mbit/s")
    panels[0][0].legend(ncols=2, fontsize=8)
    return figure


def _senders(results: Results) -> Figure:
    """Buffer and fairness over the number of senders."""
    figure, panels = _panels(1, 2, "Scenario 4: from 5 to 8,000 senders (Figure 14)")
    for law in LAWS:
        counts = [*STAR_SENDERS, MANY_SENDERS]
        plans = [*(STARS[law, each] for each in STAR_SENDERS), MANY[law]]
        highest = [median(each.highest for each in results[plan]) for plan in plans]
        jain = [median(each.jain for each in results[plan]) for plan in plans]
        look = {"label": NAMES[law], "color": LAW_COLOURS[law], "marker": "o", "markersize": 4}
        panels[0][0].plot(counts, highest, **look)
        panels[0][1].plot(counts, jain, **look)
    for panel in panels[0]:
        panel.set_xscale("log")
        panel.set_xlabel("senders")
        panel.set_ylim(bottom=0)
    panels[0][1].set_ylim(0, 1.05)
    panels[0][0].set_ylabel("highest buffer of A–B, packets")
    panels[0][1].set_ylabel("Jain's index")
    panels[0][0].legend(fontsize=8)
    return figure


def _lottery(results: Results) -> Figure:
    """A hundred streams on one link."""
    figure, panels = _panels(1, 1, "100 streams on 2 Mbit/s (Figure 2)")
    panel = panels[0][0]
    colours = {"without": "#888888", "paper": "#1f6fb4", "improved": "#d1495b"}
    labels = {"without": "without the lottery", "paper": "with it", "improved": "improved law"}
    for name, plan in LOTTERY.items():
        buffers = results[plan][0].highest_by_second["A->B"]
        panel.plot(range(len(buffers)), buffers, label=labels[name], color=colours[name])
    panel.set_xlabel("seconds")
    panel.set_ylabel("highest buffer, packets")
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=0)
    panel.legend(fontsize=8)
    return figure


def _benefits(results: Results) -> Figure:
    """The shares on the chain for each benefit function."""
    figure, panels = _panels(1, 2, "Scenario 3: what each benefit function does")
    for panel, law in zip(panels[0], LAWS, strict=True):
        names = list(BENEFITS)
        runs = [results[BENEFITS[name][law]] for name in names]
        long = [median(each.class_mbit_per_s("AF") for each in run) for run in runs]
        total = [median(each.total_mbit_per_s for each in run) for run in runs]
        places = np.arange(len(names))
        panel.bar(places - 0.2, total, 0.4, label="all senders", color="#5f6b6d")
        panel.bar(places + 0.2, long, 0.4, label="A to F alone", color="#e09f3e")
        panel.set_xticks(places, names, fontsize=8)
        panel.set_title(NAMES[law], fontsize=10)
    _same_height(panels[0])
    panels[0][0].set_ylabel("Mbit/s")
    panels[0][1].legend(loc="upper right", fontsize=8)
    return figure
