from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.spark import java_home
from penstock.spark.java_home import NoJava, find_java_home

pytestmark = pytest.mark.xdist_group("spark")

NEEDED_PROGRAMS = ("bash", "sh", "dirname", "basename", "env", "ps", "nice", "uname", "readlink")
"""Programs that Spark's launcher calls besides Java."""


def fake_java(directory: Path, answer: str, status: int = 0) -> Path:
    """A Java home whose ``java`` prints this as its version."""
    java = directory / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{answer}' >&2\nexit {status}\n")
    java.chmod(0o755)
    return directory


def without_java(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine that has no Java."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in NEEDED_PROGRAMS:
        for folder in ("/bin", "/usr/bin"):
            if (Path(folder) / name).exists() and not (programs / name).exists():
                (programs / name).symlink_to(Path(folder) / name)
    kept = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    return {**kept, "PATH": str(programs), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_java_home_is_used_if_it_is_new_enough(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk", 'openjdk version "21.0.2" 2024-01-16')
    assert find_java_home({"JAVA_HOME": str(home), "PATH": ""}) == home


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ('java version "1.8.0_292"', 0),
        ('openjdk version "11.0.1"', 0),
        ('openjdk version "17.0.1"', 1),
        ("Error: module jdk.incubator.vector not found", 1),
    ],
)
def test_a_java_that_cannot_run_spark_is_skipped(tmp_path: Path, answer: str, status: int) -> None:
    home = fake_java(tmp_path / "old", answer, status)
    environment = {"JAVA_HOME": str(home), "PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    found = find_java_home(environment)
    assert found.is_relative_to(tmp_path / "cache")
    assert find_java_home(environment) == found


def test_the_script_drops_one_argument_and_keeps_the_others(tmp_path: Path) -> None:
    environment = without_java(tmp_path)
    script = find_java_home(environment) / "bin" / "java"
    text = script.read_text().rsplit("exec ", 1)[0] + 'printf "[%s]" "$@"\n'
    said = subprocess.run(
        ["/bin/sh", "-c", text, "java", "-Da=b c", java_home.VECTOR_MODULE, "", "last"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "[-Da=b c][][last]"


def test_without_any_java_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_home, "find_spec", lambda name: None)
    with pytest.raises(NoJava, match=r"neither JAVA_HOME nor the PATH.*pip install 'penstock\["):
        find_java_home({"PATH": ""})
    old = fake_java(tmp_path / "old", 'java version "1.8.0_292"')
    with pytest.raises(NoJava, match="is version 8"):
        find_java_home({"JAVA_HOME": str(old), "PATH": ""})


def test_a_session_runs_on_a_machine_without_java(tmp_path: Path) -> None:
    program = (
        "from penstock.spark.session import build_session\n"
        "spark = build_session('shim', 'local[1]')\n"
        "print(spark.range(10).selectExpr('sum(id)').first()[0])\n"
        "spark.stop()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=without_java(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.splitlines()[-1:] == ["45"], done.stderr[-2000:]
