"""All papers' experiments, one service after the other."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from penstock.lab.papers.table import PaperRow

SERVICES: Final = ("guaranteed", "multicast", "datagram", "gossip", "queues")


def installed_services() -> list[str]:
    """The services whose experiments are part of this installation, in the order of the table."""
    return [name for name in SERVICES if find_spec(f"penstock.lab.papers.{name}") is not None]


def run_service(
    service: str, *, world: str, seeds: int, out: Path, progress: Callable[[str], None]
) -> list[PaperRow]:
    """Run one service's experiments; figures go to ``out``."""
    module = import_module(f"penstock.lab.papers.{service}")
    rows: list[PaperRow] = module.run(world=world, seeds=seeds, out=out, progress=progress)
    return rows
