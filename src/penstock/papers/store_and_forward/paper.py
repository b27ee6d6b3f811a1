"""Alias queues and their flow control, after El Rheddane, De Palma and Tchana
(docs/papers/store-and-forward.md)."""

from __future__ import annotations

from typing import Final

from penstock.lab.experiments.paper import Paper
from penstock.papers.store_and_forward.experiments import EXPERIMENTS
from penstock.papers.store_and_forward.figures import FIGURES
from penstock.papers.store_and_forward.rows import ROWS

PAPER: Final = Paper("queues", "Scalable Store and Forward Messaging", EXPERIMENTS, ROWS, FIGURES)
