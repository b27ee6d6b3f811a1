"""``python -m penstock.net BROKER.toml``: run one broker in the foreground.

Prints one line of JSON when it listens; logs to standard error.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import msgspec

from penstock.core.machine_failure import MachineFailed
from penstock.net.broker.config import ConfigError, load_config
from penstock.net.broker.restarts import FAILED_STATUS
from penstock.net.broker.serve import Ready, serve
from penstock.store.interface import StoreError

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def main(arguments: list[str]) -> int:
    """Run a broker; returns the exit status."""
    if len(arguments) != 1:
        print("usage: python -m penstock.net BROKER.toml", file=sys.stderr)
        return 2
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=LOG_FORMAT)
    try:
        serve(load_config(Path(arguments[0])), on_ready=_say_ready)
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
