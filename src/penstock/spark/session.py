"""A Spark session configured for Penstock: one call, on a laptop or on a cluster.

A setting comes from the first of these that has it:

1. the arguments of ``build_session``: what the program says, as everywhere in Spark;
2. what the program was submitted with: ``spark-submit --master … --conf …``,
   ``PYSPARK_SUBMIT_ARGS``, ``spark-defaults.conf``, or the session that runs already;
3. this module.  Every setting here has a reason that was measured or reproduced.  Those of
   ``LOCAL_SETTINGS`` are for one machine: a cluster has its own interface, logs and parallelism.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from penstock.spark.java_home import find_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER: Final = "spark.master"

DEFAULT_SETTINGS: Final[dict[str, str]] = {
    # Without Hadoop's native library the default manager starts about twenty processes for every
    # micro-batch; this manager halves the minimum duration of a micro-batch.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    # Predicates of batch queries become selectors that the brokers evaluate.
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    # Ticks are instants, which must not depend on a local time zone.
    "spark.sql.session.timeZone": "UTC",
}

LOCAL_SETTINGS: Final[dict[str, str]] = {
    # The machine's host name may resolve to an unreachable address, or not at all.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Each shuffle partition costs tasks in every micro-batch; a big job sets its own number.
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
"""Additional settings where driver and executors are one process."""

SET_BY_THE_LAUNCHER: Final = frozenset({"spark.ui.showConsoleProgress"})
"""Settings that Spark's launcher adds where nobody submitted the program."""


class NoSpark(RuntimeError):
    """Spark is not installed."""


def build_session(app_name: str, master: str | None = None, **settings: str) -> SparkSession:
    """The session of this process; started if there is none yet.

    Without ``master`` it is the submitted one, or else this machine (``local[*]``).  ``settings``
    are Spark's own (``**{"spark.sql.shuffle.partitions": "8"}``).  Raises ``NoSpark``, or
    ``NoJava`` if the machine has no Java that can run Spark.
    """
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        raise NoSpark(
            "build_session needs Spark, which is not installed: pip install 'penstock[spark]'"
        ) from None
    # Workers must use the Python that has Penstock; otherwise they fail to connect back.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    explicit = settings if master is None else {MASTER: master, **settings}
    builder = SparkSession.builder.appName(app_name)
    for name, value in choose_settings(explicit, _submitted(explicit)).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def choose_settings(explicit: Mapping[str, str], submitted: Mapping[str, str]) -> dict[str, str]:
    """The settings for a new session: explicit ones, and defaults that nobody has set."""
    master = explicit.get(MASTER) or submitted.get(MASTER) or "local[*]"
    defaults = {MASTER: master, **DEFAULT_SETTINGS}
    if master.startswith("local"):
        defaults |= LOCAL_SETTINGS
    unset = {name: value for name, value in defaults.items() if name not in submitted}
    return {**unset, **explicit}


def _submitted(explicit: Mapping[str, str]) -> dict[str, str]:
    """What this process was submitted with; starts its JVM, which alone knows, if none runs."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return dict(running.sparkContext.getConf().getAll()) | running.conf.getAll
    # spark-submit has started the JVM, and this process as its child.
    was_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if SparkContext._gateway is None and not was_submitted:
        os.environ["JAVA_HOME"] = str(find_java_home())
    # Some settings, such as the driver's memory, take effect only when the JVM starts.
    at_start = SparkConf(loadDefaults=False)
    for name, value in explicit.items():
        at_start.set(name, value)
    SparkContext._ensure_initialized(conf=at_start)
    found = dict(SparkConf().getAll())
    if not was_submitted:
        found = {name: value for name, value in found.items() if name not in SET_BY_THE_LAUNCHER}
    return found
