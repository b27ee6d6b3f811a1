"""Which settings a session gets: the program's, the submitted ones, or ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from penstock.spark.java_home import find_java_home
from penstock.spark.session import (
    DEFAULT_SETTINGS,
    LOCAL_SETTINGS,
    MASTER,
    NoSpark,
    build_session,
    choose_settings,
)

pytestmark = pytest.mark.xdist_group("spark")

PATIENCE_S = 240.0

JOB = """
import json
from penstock.spark.session import build_session

spark = build_session("submitted", **{"spark.sql.files.maxPartitionBytes": "1000"})
names = [
    "spark.sql.shuffle.partitions",
    "spark.sql.session.timeZone",
    "spark.sql.files.maxPartitionBytes",
]
spark.conf.set("spark.sql.session.timeZone", "CET")
spark = build_session("again")
found = {name: spark.conf.get(name) for name in names}
print(json.dumps({"master": spark.sparkContext.master, **found}))
spark.stop()
"""


def test_a_laptop_gets_all_defaults() -> None:
    everything = {MASTER: "local[*]", **DEFAULT_SETTINGS, **LOCAL_SETTINGS}
    assert choose_settings({}, {}) == everything
    assert choose_settings({MASTER: "local[2]"}, {}) == {**everything, MASTER: "local[2]"}


def test_submitted_settings_are_left_alone_and_explicit_ones_win() -> None:
    submitted = {MASTER: "local[3]", "spark.log.level": "INFO", "spark.ui.enabled": "true"}
    chosen = choose_settings({"spark.ui.enabled": "false"}, submitted)
    assert MASTER not in chosen
    assert "spark.log.level" not in chosen
    assert chosen["spark.ui.enabled"] == "false"
    assert chosen["spark.sql.session.timeZone"] == "UTC"


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host:6443"])
def test_a_cluster_keeps_its_interface_logs_and_parallelism(master: str) -> None:
    for explicit, submitted in (({}, {MASTER: master}), ({MASTER: master}, {})):
        chosen = choose_settings(explicit, submitted)
        assert chosen == {**DEFAULT_SETTINGS, **explicit}
        assert not chosen.keys() & LOCAL_SETTINGS.keys()


def test_spark_submit_decides(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB)
    done = subprocess.run(
        [
            Path(pyspark.__file__).parent / "bin" / "spark-submit",
            *("--master", "local[1]"),
            *("--conf", "spark.sql.shuffle.partitions=7"),
            *("--conf", "spark.sql.files.maxPartitionBytes=2000"),
            job,
        ],
        env={
            **os.environ,
            "JAVA_HOME": str(find_java_home()),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "master": "local[1]",
        "spark.sql.shuffle.partitions": "7",
        # A session that runs already keeps what was set in it.
        "spark.sql.session.timeZone": "CET",
        # What the program says wins, as everywhere in Spark.
        "spark.sql.files.maxPartitionBytes": "1000",
    }


def test_without_spark_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    # None makes the import fail, as if the package were missing.
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(NoSpark, match=r"pip install 'penstock\[spark\]'"):
        build_session("job")
