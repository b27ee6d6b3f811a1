"""All papers' experiments, one service after the other."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from penstock.papers.table import PaperRow
from penstock.services.description import load
from penstock.services.registry import description, descriptions


def installed_services() -> list[str]:
    """The services whose experiments are part of this installation, in order."""
    return [each.name for each in descriptions() if _is_installed(each.papers)]


def _is_installed(entry_point: str) -> bool:
    return bool(entry_point) and find_spec(entry_point.partition(":")[0]) is not None


def run_service(
    service: str, *, world: str, seeds: int, out: Path, progress: Callable[[str], None]
) -> list[PaperRow]:
    """Run one service's experiments; figures go to ``out``."""
    run = load(description(service).papers)
    rows: list[PaperRow] = run(world=world, seeds=seeds, out=out, progress=progress)
    return rows
