"""All papers' experiments, one service after the other."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from penstock.papers.table import PaperRow

PAPERS: Final = {
    "guaranteed": "gryphon",
    "multicast": "cost_benefit",
    "datagram": "content_aware",
    "gossip": "adaptive_gossip",
    "queues": "store_and_forward",
}
"""The folder of the paper behind each service, in the order of the table."""


def installed_services() -> list[str]:
    """The services whose experiments are part of this installation, in the order of the table."""
    return [name for name, paper in PAPERS.items() if find_spec(f"penstock.papers.{paper}")]


def run_service(
    service: str, *, world: str, seeds: int, out: Path, progress: Callable[[str], None]
) -> list[PaperRow]:
    """Run one service's experiments; figures go to ``out``."""
    module = import_module(f"penstock.papers.{PAPERS[service]}.paper")
    rows: list[PaperRow] = module.run(world=world, seeds=seeds, out=out, progress=progress)
    return rows
