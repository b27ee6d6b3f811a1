"""``penstock serve``: runs one broker in this process."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import msgspec

from penstock.cli.errors import MISUSED, told_in_one_line
from penstock.core.machine_failure import MachineFailed
from penstock.lab.telemetry.telemetry import TelemetryDirectory
from penstock.net.broker.config import ConfigError, load_config
from penstock.net.broker.restarts import FAILED_STATUS
from penstock.net.broker.serve import Ready
from penstock.net.broker.serve import serve as serve_broker
from penstock.net.broker.telemetry import TraceSink
from penstock.store.interface import StoreError

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def serve(
    config: Path, /, *, log_level: Literal["debug", "info", "warning", "error"] = "info"
) -> None:
    """Run a broker until it is stopped (Ctrl-C or SIGTERM).

    Prints one line of JSON with its address when it listens, and logs to standard error.
    After an internal error the broker restarts from its log; after too many errors the command
    exits with status 70.

    Parameters
    ----------
    config
        BROKER.toml (docs/reference/broker-config.md).
    log_level
        The lowest level that is logged.
    """
    logging.basicConfig(stream=sys.stderr, level=log_level.upper(), format=LOG_FORMAT)
    with told_in_one_line(ConfigError, status=MISUSED):
        settings = load_config(config)
    failures = told_in_one_line(MachineFailed, status=FAILED_STATUS)
    with failures, told_in_one_line(StoreError, OSError), ExitStack() as stack:
        sink: TraceSink | None = None
        if settings.telemetry.directory:
            folder = config.parent / settings.telemetry.directory
            sink = stack.enter_context(TelemetryDirectory(folder, settings.name)).add_all
        serve_broker(settings, on_ready=_say_ready, on_trace=sink)


def _say_ready(ready: Ready) -> None:
    print(msgspec.json.encode(ready).decode(), flush=True)
