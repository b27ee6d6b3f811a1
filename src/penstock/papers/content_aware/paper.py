"""Congestion control of datagrams, after the content-aware paper (docs/papers/content-aware.md)."""

from __future__ import annotations

from typing import Final

from penstock.lab.experiments.paper import Paper
from penstock.papers.content_aware.beyond_rows import BEYOND
from penstock.papers.content_aware.corners import CORNER_ROWS
from penstock.papers.content_aware.experiments import EXPERIMENTS
from penstock.papers.content_aware.figures import FIGURES
from penstock.papers.content_aware.live_rows import LIVE_ROWS
from penstock.papers.content_aware.rows import ROWS

PAPER: Final = Paper(
    "datagram",
    "End-to-End Congestion Control for Content-Based Networks",
    EXPERIMENTS,
    (*ROWS, *BEYOND, *CORNER_ROWS, *LIVE_ROWS),
    FIGURES,
)
