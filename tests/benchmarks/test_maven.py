"""Downloads and their errors, with a script in place of Maven."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.harness import maven
from benchmarks.harness.maven import Artifact, NotDownloaded, downloaded

BROKER = Artifact("org.example", "broker", "1.0")
ARCHIVE = Artifact("org.example", "server", "2.0", kind="tar.gz", classifier="bin", alone=True)

COPIES = """#!/bin/sh
for each do case "$each" in -DoutputDirectory=*) touch "${each#*=}/broker.jar";; esac; done
echo called >> "$(dirname "$0")/calls"
"""
FAILS = """#!/bin/sh
echo "[INFO] scanning"
echo "[ERROR] no such version in central (https://somewhere.example/maven) -> [Help 1]"
exit 1
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything happens in this directory, and no other Maven is found."""
    monkeypatch.setattr(maven, "OUT", tmp_path / "out")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(maven.shutil, "which", lambda name: _program(tmp_path / name))
    return tmp_path


def _program(path: Path) -> str | None:
    return str(path) if path.exists() else None


def _install(place: Path, program: str) -> None:
    (place / "mvn").write_text(program)
    (place / "mvn").chmod(0o755)


def test_without_maven_the_error_names_the_install_command(place: Path) -> None:
    with pytest.raises(NotDownloaded, match=r"broker: Maven.* is missing: make peers"):
        downloaded("broker", [BROKER])


def test_a_complete_download_is_reused_unless_the_artifacts_change(place: Path) -> None:
    _install(place, COPIES)
    for _ in range(2):
        directory = downloaded("broker", [BROKER])
        assert (directory / "broker.jar").exists()
    assert (place / "calls").read_text() == "called\n"
    downloaded("broker", [BROKER, ARCHIVE])
    assert (place / "calls").read_text() == "called\ncalled\n"


def test_a_failed_download_is_reported_and_repeated(place: Path) -> None:
    _install(place, FAILS)
    with pytest.raises(
        NotDownloaded, match=r"could not download it: \[ERROR\] no such version in central ->"
    ):
        downloaded("broker", [BROKER])
    _install(place, COPIES)
    assert (downloaded("broker", [BROKER]) / "broker.jar").exists()


def test_an_archive_is_requested_by_its_type_without_dependencies() -> None:
    asked = ARCHIVE.in_pom()
    assert "<type>tar.gz</type><classifier>bin</classifier>" in asked
    assert "<exclusion><groupId>*</groupId>" in asked
    assert "exclusion" not in BROKER.in_pom()
    assert "classifier" not in BROKER.in_pom()
