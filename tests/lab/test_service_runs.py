"""Which service a scenario file belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.lab.scenario.file import ScenarioError
from penstock.lab.service_runs import prepare, runnable, service_of


@pytest.mark.parametrize(
    ("text", "service"),
    [
        ('service = "gossip"\nname = "x"', "gossip"),
        ('name = "x"', None),
        ('service = "turbines"', None),
        ("service = [1]", None),
        ("not toml", None),
    ],
)
def test_a_file_names_its_service(text: str, service: str | None, tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text)
    assert service_of(path) == service
    assert service_of(tmp_path / "nowhere.toml") is None


@pytest.mark.parametrize("service", runnable())
def test_every_service_reads_its_files(service: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(f'service = "{service}"\n')
    with pytest.raises(ScenarioError, match=r"wrong\.toml"):
        prepare(service, path, "sim", 1)
