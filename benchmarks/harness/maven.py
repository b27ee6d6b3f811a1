"""Downloads artifacts from Maven Central once into ``out/``, with Maven's own settings.

If Maven is not installed or does not reach Central, ``NotDownloaded`` names the reason.  A complete
directory contains a note of its contents, so that a download that was interrupted, or had other
versions, is repeated.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

OUT: Final = Path(__file__).resolve().parents[2] / "out"
DOWNLOAD_TIMEOUT_S: Final = 300.0
"""Two hundred megabytes over a slow line; after that an error is more useful than waiting."""

COMPLETE: Final = "complete"
COLOURLESS: Final = "-Dstyle.color=never"
ADDRESS: Final = re.compile(r" \(https?://[^)]*\)")
"""The repository in Maven's errors; removed, because it differs between machines."""


class NotDownloaded(RuntimeError):
    """An artifact is not available here; the message names it and the reason."""


class Artifact(msgspec.Struct, frozen=True):
    """One artifact: its coordinates, and whether its dependencies are included."""

    group: str
    name: str
    version: str
    kind: str = "jar"
    classifier: str = ""
    alone: bool = False

    def in_pom(self) -> str:
        """As a dependency of a pom."""
        classifier = f"<classifier>{self.classifier}</classifier>" if self.classifier else ""
        return (
            f"<dependency><groupId>{self.group}</groupId><artifactId>{self.name}</artifactId>"
            f"<version>{self.version}</version><type>{self.kind}</type>{classifier}"
            f"{_EXCLUDE_ALL if self.alone else ''}</dependency>"
        )


_EXCLUDE_ALL: Final = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)


def downloaded(what: str, artifacts: Sequence[Artifact]) -> Path:
    """The directory ``what`` under ``out/`` with the files of all artifacts."""
    directory = OUT / what
    pom = _pom(what, artifacts)
    complete = directory / COMPLETE
    if complete.exists() and complete.read_text() == pom:
        return directory
    maven = shutil.which("mvn")
    if maven is None:
        raise NotDownloaded(f"{what}: Maven, which would download it, is missing: make peers")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "pom.xml").write_text(pom)
    _run_maven([maven, "-q", "-B", COLOURLESS, "dependency:copy-dependencies"], what, directory)
    complete.write_text(pom)
    return directory


def _run_maven(command: Sequence[str], what: str, directory: Path) -> None:
    options = [f"-DoutputDirectory={directory}", "-DincludeScope=runtime"]
    try:
        subprocess.run(
            [*command, *options],
            cwd=directory,
            check=True,
            timeout=DOWNLOAD_TIMEOUT_S,
            capture_output=True,
            text=True,
        )
    except subprocess.TimeoutExpired:
        raise NotDownloaded(
            f"{what}: Maven Central did not answer within {DOWNLOAD_TIMEOUT_S:g} s"
        ) from None
    except subprocess.CalledProcessError as error:
        said = [line for line in error.stdout.splitlines() if "[ERROR]" in line]
        reason = ADDRESS.sub("", said[0]) if said else error
        raise NotDownloaded(f"{what}: Maven could not download it: {reason}") from None


def _pom(what: str, artifacts: Sequence[Artifact]) -> str:
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>benchmarks</groupId><artifactId>{what}</artifactId><version>1</version>"
        f"<dependencies>{''.join(each.in_pom() for each in artifacts)}</dependencies></project>"
    )
