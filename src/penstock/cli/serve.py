"""``penstock serve``: one broker in the foreground."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec

from penstock.cli.errors import MISUSED, told_in_one_line
from penstock.lab.telemetry import TelemetryDirectory
from penstock.net.config import ConfigError, load_config
from penstock.net.serve import Ready
from penstock.net.serve import serve as serve_broker
from penstock.net.telemetry import TraceSink
from penstock.store.interface import StoreError

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def serve(config: Path, /, *, json: bool = False) -> None:
    """Run the broker that a configuration file describes, until Ctrl-C or SIGTERM.

    Parameters
    ----------
    config
        The broker's configuration (docs/reference/broker-config.md).
    json
        Say where it listens as one line of JSON.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=LOG_FORMAT)
    with told_in_one_line(ConfigError, status=MISUSED):
        settings = load_config(config)

    def say_ready(ready: Ready) -> None:
        text = f"broker {ready.name} listens on penstock://{ready.host}:{ready.port}"
        print(msgspec.json.encode(ready).decode() if json else text, flush=True)

    with told_in_one_line(StoreError, OSError), ExitStack() as stack:
        sink: TraceSink | None = None
        if settings.telemetry.directory:
            folder = config.parent / settings.telemetry.directory
            sink = stack.enter_context(TelemetryDirectory(folder, settings.name)).add_all
        serve_broker(settings, on_ready=say_ready, on_trace=sink)
