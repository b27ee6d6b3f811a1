"""The shape of the house: small folders, entry points that exist, documents that are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.lab.experiments.paper import Paper
from penstock.services.description import load
from penstock.services.registry import descriptions

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "penstock"
MOST_MODULES = 20


def folders() -> list[Path]:
    found = {path.parent for path in SOURCES.rglob("*.py")}
    return sorted(found)


@pytest.mark.parametrize("folder", folders(), ids=lambda path: str(path.relative_to(SOURCES)))
def test_no_folder_has_too_many_modules(folder: Path) -> None:
    modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MOST_MODULES


@pytest.mark.parametrize("service", descriptions(), ids=lambda service: service.name)
def test_every_entry_point_of_a_description_exists(service: object) -> None:
    points = [value for value in vars(service).values() if isinstance(value, str) and ":" in value]
    points += [place for place, _ in service.commands.values()]  # type: ignore[attr-defined]
    assert points
    for point in points:
        found = load(point)
        assert callable(found) or isinstance(found, Paper), point


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_files_that_a_document_names_exist(document: str) -> None:
    text = (ROOT / document).read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text))
    assert named
    bases = [ROOT, SOURCES, *(SOURCES / "services").iterdir()]
    missing = [name for name in named if not any((base / name).exists() for base in bases)]
    assert not missing
