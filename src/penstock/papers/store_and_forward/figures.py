"""The loads of the consumers' queues over time, under each policy (the paper's Figures 5, 6, 8)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from penstock.papers.store_and_forward.runs import QueueResult

HEADROOM = 1.25
"""Above the highest load, so that the legend hides no curve."""

COLOURS = {"work-east": "tab:blue", "work-west": "tab:orange"}
NAMES = {"work-east": "east", "work-west": "west"}


def draw_loads(title: str, results: Mapping[str, QueueResult], path: Path) -> None:
    """One panel for each policy, on one scale, as PNG and SVG."""
    figure, panels = plt.subplots(
        1, len(results), figsize=(4.2 * len(results), 3.4), sharey=True, squeeze=False
    )
    for panel, (policy, result) in zip(panels[0], results.items(), strict=True):
        for queue, series in result.loads.items():
            times = [at for at, _ in series]
            loads = [load for _, load in series]
            panel.plot(times, loads, label=NAMES[queue], color=COLOURS[queue], linewidth=1)
        total = f"{result.total_s:.1f} s" if result.finished else "not finished"
        panel.set_title(f"{policy}: {total}", fontsize=10)
        panel.set_xlabel("seconds")
        panel.set_xlim(left=0)
        panel.set_ylim(0, HEADROOM * max(each.highest_load for each in results.values()))
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("messages in the queue")
    panels[0][-1].legend(ncols=2, loc="upper right")
    figure.suptitle(title)
    figure.tight_layout()
    for kind in ("png", "svg"):
        figure.savefig(path.with_suffix(f".{kind}"), dpi=120)
    plt.close(figure)
