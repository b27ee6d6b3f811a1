"""What is downloaded, and what is said where it cannot be; a program of ours stands for Maven."""

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
    """Everything happens in here, and no Maven is found elsewhere."""
    monkeypatch.setattr(maven, "OUT", tmp_path / "out")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(maven.shutil, "which", lambda name: _program(tmp_path / name))
    return tmp_path


def _program(path: Path) -> str | None:
    return str(path) if path.exists() else None


def _install(place: Path, program: str) -> None:
    (place / "mvn").write_text(program)
    (place / "mvn").chmod(0o755)


def test_without_maven_the_reason_says_what_brings_it(place: Path) -> None:
    with pytest.raises(NotDownloaded, match=r"broker: Maven.* is missing: make peers"):
        downloaded("broker", [BROKER])


def test_what_is_there_is_not_downloaded_again_unless_it_is_another(place: Path) -> None:
    _install(place, COPIES)
    for _ in range(2):
        directory = downloaded("broker", [BROKER])
        assert (directory / "broker.jar").exists()
    assert (place / "calls").read_text() == "called\n"
    downloaded("broker", [BROKER, ARCHIVE])
    assert (place / "calls").read_text() == "called\ncalled\n"


def test_a_download_that_failed_is_told_and_tried_again(place: Path) -> None:
    _install(place, FAILS)
    with pytest.raises(
        NotDownloaded, match=r"could not download it: \[ERROR\] no such version in central ->"
    ):
        downloaded("broker", [BROKER])
    _install(place, COPIES)
    assert (downloaded("broker", [BROKER]) / "broker.jar").exists()


def test_an_archive_is_asked_for_by_its_kind_and_without_what_it_depends_on() -> None:
    asked = ARCHIVE.in_pom()
    assert "<type>tar.gz</type><classifier>bin</classifier>" in asked
    assert "<exclusion><groupId>*</groupId>" in asked
    assert "exclusion" not in BROKER.in_pom()
    assert "classifier" not in BROKER.in_pom()
