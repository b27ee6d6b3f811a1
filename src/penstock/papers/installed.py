"""The papers of this installation, by service."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TypeAlias

from penstock.papers.paper import Paper
from penstock.papers.table import PaperRow
from penstock.services.description import load
from penstock.services.registry import description, descriptions

Run: TypeAlias = Callable[..., list[PaperRow]]
"""A paper that is not data yet: ``run(world=, seeds=, out=, progress=)``."""


def installed_services() -> list[str]:
    """The services whose experiments are part of this installation, in order."""
    return [each.name for each in descriptions() if _is_installed(each.papers)]


def _is_installed(entry_point: str) -> bool:
    return bool(entry_point) and find_spec(entry_point.partition(":")[0]) is not None


def paper_of(service: str) -> Paper | Run:
    """The paper of a service."""
    paper: Paper | Run = load(description(service).papers)
    return paper
