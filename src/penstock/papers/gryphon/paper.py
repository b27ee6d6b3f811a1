"""Congestion control for guaranteed delivery, after the Gryphon paper (docs/papers/gryphon.md)."""

from __future__ import annotations

from typing import Final

from penstock.lab.experiments.paper import Paper
from penstock.papers.gryphon.experiments import EXPERIMENTS
from penstock.papers.gryphon.figures import FIGURES
from penstock.papers.gryphon.rows import ROWS

PAPER: Final = Paper(
    "guaranteed",
    "Congestion Control in a Reliable Scalable Message-Oriented Middleware",
    EXPERIMENTS,
    ROWS,
    FIGURES,
)
