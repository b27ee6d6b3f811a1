"""A Spark session configured for Penstock: one call, on a laptop or on a cluster.

Every setting here has a reason that was measured or reproduced; the caller can override each.
"""

from __future__ import annotations

import os
import sys
from typing import Final

from pyspark.sql import SparkSession

from penstock.spark.java_home import find_java_home

DEFAULT_SETTINGS: Final[dict[str, str]] = {
    # Without Hadoop's native library the default manager starts about twenty processes for every
    # micro-batch; this manager halves the minimum duration of a micro-batch.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    # Each shuffle partition costs tasks in every micro-batch; a big job sets its own number.
    "spark.sql.shuffle.partitions": "2",
    # Predicates of batch queries become selectors that the brokers evaluate.
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    # Ticks are instants, which must not depend on a local time zone.
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}

LOCAL_SETTINGS: Final[dict[str, str]] = {
    # The machine's host name may resolve to an unreachable address, or not at all.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Additional settings where driver and executors are one process."""


def build_session(app_name: str, master: str = "local[*]", **settings: str) -> SparkSession:
    """The session of this process; started if there is none yet.

    ``settings`` are Spark's own (``**{"spark.sql.shuffle.partitions": "8"}``) and override those of
    this module.  Raises ``NoJava`` if the machine has no Java that can run Spark.
    """
    os.environ["JAVA_HOME"] = str(find_java_home())
    # Workers must use the Python that has Penstock; otherwise they fail to connect back.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name).master(master)
    chosen = DEFAULT_SETTINGS | (LOCAL_SETTINGS if master.startswith("local") else {}) | settings
    for name, value in chosen.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
