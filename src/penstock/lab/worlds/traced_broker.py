"""``python -m penstock.lab.worlds.traced_broker BROKER.toml``: a broker that a run can measure.

It is the same broker that ``penstock serve`` runs.  Its telemetry is appended to a file beside its
configuration, one JSON object per line and one write per batch, so that a broker that is killed
during a run loses at most the line that it was writing.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from penstock.core.machine_failure import MachineFailed
from penstock.core.trace import TraceRecord
from penstock.net.broker.config import ConfigError, load_config
from penstock.net.broker.restarts import FAILED_STATUS
from penstock.net.broker.serve import Ready, serve
from penstock.store.interface import StoreError

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

COMMAND = (sys.executable, "-m", "penstock.lab.worlds.traced_broker")


def trace_path(config_path: Path) -> Path:
    """The telemetry file of the broker with this configuration."""
    return config_path.with_suffix(".trace")


def read_trace(path: Path) -> Iterator[TraceRecord]:
    """The records of a file; a last line that a crash cut short is skipped."""
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(TraceRecord)
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield decoder.decode(line)


def main(arguments: list[str]) -> int:
    """Run a broker; returns the exit status."""
    path = Path(arguments[0])
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=LOG_FORMAT)
    encoder = msgspec.json.Encoder()
    with trace_path(path).open("ab", buffering=0) as file:

        def write(records: list[TraceRecord]) -> None:
            file.write(encoder.encode_lines(records))

        try:
            serve(load_config(path), on_ready=_say_ready, on_trace=write)
        except (ConfigError, StoreError, OSError) as error:
            print(f"penstock: {error}", file=sys.stderr)
            return 1
        except MachineFailed as error:
            print(f"penstock: {error}", file=sys.stderr)
            return FAILED_STATUS
    return 0


def _say_ready(ready: Ready) -> None:
    print(msgspec.json.encode(ready).decode(), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
