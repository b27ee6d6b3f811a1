"""A Spark session for a command, with what goes wrong told in one line."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from penstock.cli.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HINT: Final = "pip install 'penstock[spark]'"

MAX_TOLD: Final = 300
"""A message of the JVM brings its stack along; its beginning tells what is wrong."""

OUR_ERROR: Final = re.compile(r"penstock\.[\w.]+: (.*?)(?: SQLSTATE|$)")
"""What our own code said, inside a message in which Spark quotes the whole traceback."""


def need_spark(command: str) -> None:
    """Say what to install if Spark is missing."""
    if find_spec("pyspark") is None:
        raise UserError(f"penstock {command} needs Spark, which is not installed: {HINT}")


@contextmanager
def spark_session(command: str, master: str) -> Iterator[SparkSession]:
    """A session that ends with the command; what Spark says while it starts is kept quiet."""
    need_spark(command)
    # Spark logs what it raises, with the stack of its JVM; the command tells it in one line.
    logging.getLogger("DataFrameQueryContextLogger").disabled = True
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    from penstock.spark.java_home import NoJava
    from penstock.spark.session import build_session

    try:
        with _standard_error_kept():
            session = build_session(f"penstock {command}", master)
    except NoJava as error:
        raise UserError(str(error)) from None
    except Exception as error:
        # Spark's own errors of every kind: a master that is not understood or cannot be reached.
        raise UserError(f"--master {master}: Spark does not start: {_cause(error)}") from None
    try:
        yield session
    except Exception:
        if _has_ended(session):
            # Whatever was asked of it last says only that nobody answers.
            raise UserError("Spark's JVM has ended: it was stopped, or ran out of memory") from None
        raise
    finally:
        # A JVM that is gone has stopped already, and must not hide why the command ends.
        with suppress(OSError, Py4JError):
            session.stop()


def _has_ended(session: SparkSession) -> bool:
    """Whether the JVM that this process started is gone."""
    gateway = session.sparkContext._gateway
    process = getattr(gateway, "proc", None)
    return process is not None and process.poll() is not None


@contextmanager
def spark_told_in_one_line() -> Iterator[None]:
    """Turn what Spark raises into the one line that tells the cause."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise UserError(_cause(error)) from None


def _cause(error: Exception) -> str:
    text = " ".join(str(error).split())
    ours = OUR_ERROR.findall(text)
    return str(ours[-1]) if ours else text[:MAX_TOLD]


@contextmanager
def _standard_error_kept() -> Iterator[None]:
    """Send what the starting JVM writes to standard error nowhere.

    It announces its modules and log settings there before any log level is in force.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
