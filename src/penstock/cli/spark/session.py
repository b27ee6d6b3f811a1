"""A Spark session for one command; reports Spark's errors in one line."""

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
"""Characters of a JVM message that are kept: the cause comes first, then the JVM's stack."""

OUR_ERROR: Final = re.compile(r"penstock\.[\w.]+: (.*?)(?: SQLSTATE|$)")
"""Our own error message, inside a Spark message that quotes the whole traceback."""


def need_spark(command: str) -> None:
    """Raise ``UserError`` with the install command if Spark is missing."""
    if find_spec("pyspark") is None:
        raise UserError(f"penstock {command} needs Spark, which is not installed: {HINT}")


@contextmanager
def spark_session(command: str, master: str) -> Iterator[SparkSession]:
    """A session that ends with the command; Spark's output while it starts is suppressed."""
    need_spark(command)
    # Spark logs every exception with the JVM's stack; the command reports it in one line instead.
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
        # Any Spark error: a master URL that is invalid or that cannot be reached.
        raise UserError(f"--master {master}: Spark does not start: {_cause(error)}") from None
    try:
        yield session
    except Exception:
        if _has_ended(session):
            # Calls to a JVM that is gone fail with "connection refused", which hides the cause.
            raise UserError("Spark's JVM has ended: it was stopped, or ran out of memory") from None
        raise
    finally:
        # Stopping a JVM that is gone fails, and must not hide why the command ends.
        with suppress(OSError, Py4JError):
            session.stop()


def _has_ended(session: SparkSession) -> bool:
    """Whether the JVM that this process started has exited."""
    gateway = session.sparkContext._gateway
    process = getattr(gateway, "proc", None)
    return process is not None and process.poll() is not None


@contextmanager
def spark_told_in_one_line() -> Iterator[None]:
    """Convert Spark's exceptions into a ``UserError`` that names the cause."""
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
    """Discard what the starting JVM writes to standard error.

    It prints its modules and log settings there before any log level takes effect.
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
