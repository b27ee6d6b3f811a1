"""Flow control for groups, after the cost-benefit paper (docs/papers/cost-benefit.md)."""

from __future__ import annotations

from typing import Final

from penstock.lab.experiments.paper import Paper
from penstock.papers.cost_benefit.experiments import EXPERIMENTS
from penstock.papers.cost_benefit.figures import FIGURES
from penstock.papers.cost_benefit.rows import ROWS

PAPER: Final = Paper(
    "multicast",
    "A Cost-Benefit Flow Control for Reliable Multicast and Unicast in Overlay Networks",
    EXPERIMENTS,
    ROWS,
    FIGURES,
)
