"""Adaptive gossip-based broadcast (docs/papers/adaptive-gossip.md)."""

from __future__ import annotations

from typing import Final

from penstock.lab.experiments.paper import Paper
from penstock.papers.adaptive_gossip.experiments import EXPERIMENTS
from penstock.papers.adaptive_gossip.figures import FIGURES
from penstock.papers.adaptive_gossip.rows import ROWS

PAPER: Final = Paper("gossip", "Adaptive Gossip-Based Broadcast", EXPERIMENTS, ROWS, FIGURES)
