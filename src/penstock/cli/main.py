"""The ``penstock`` command: its subcommands, and how it reports errors.

A command's module is imported when the command is used, so ``penstock --version`` starts quickly.
A command of a service is named in the service's description, any other one in ``COMMANDS``.  An
error, whether the user's or a broker's refusal, is one clear line on standard error and an exit
status:

| status | meaning |
| --- | --- |
| 0 | success |
| 1 | failure; the line names the cause |
| 2 | the command line, or a file that it names, is invalid |
| 3 | a scenario ran, and one of its expectations failed |
| 130 | interrupted |
"""

from __future__ import annotations

import os
import signal
import sys
from importlib.util import find_spec
from typing import Final

from cyclopts import App, CycloptsError

from penstock.cli.errors import FAILED, INTERRUPTED, MISUSED, UserError
from penstock.services.registry import descriptions
from penstock.version import version_line

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "up": (
        "penstock.cli.operations.up:up",
        "Start three local brokers with a sample workload to explore.",
    ),
    "serve": ("penstock.cli.operations.serve:serve", "Run one broker."),
    "log": (
        "penstock.cli.operations.log:log",
        "Check, trim and repair the logs of a stopped broker.",
    ),
    "why": ("penstock.cli.operations.why:why", "Explain what slows down a sender or a reader."),
    "explain": ("penstock.cli.operations.explain:explain", "Explain how a selector is matched."),
    "bench": (
        "penstock.cli.operations.bench:bench",
        "Measure the throughput and latency of a broker.",
    ),
    "run": ("penstock.cli.laboratory.run:run", "Run a scenario, simulated or on real brokers."),
    "scenario": (
        "penstock.cli.laboratory.scenario:scenario",
        "Check, convert and make scenario files.",
    ),
    "papers": ("penstock.cli.laboratory.papers:papers", "Run the experiments of the five papers."),
    "lake": ("penstock.cli.spark.lake:lake", "Write telemetry to a lake; maintain the lake."),
    "land": (
        "penstock.cli.spark.land:land",
        "Keep a Delta table of the messages that match a selector.",
    ),
    "report": ("penstock.cli.spark.report:report", "Report on runs in a lake, with figures."),
    "sweep": (
        "penstock.cli.spark.sweep:sweep",
        "Run a scenario with many parameters and seeds.",
    ),
}
"""Each command's function and its one-line help; services add their own (``description.py``)."""

HELP: Final = """Message-oriented middleware that does not collapse under congestion.

`penstock up` starts a small overlay of brokers with a sample workload to explore. Commands that
talk to a broker take `--url`, or read PENSTOCK_URL.
"""


def all_commands() -> dict[str, tuple[str, str]]:
    """The commands of every service and all others."""
    commands = dict(COMMANDS)
    for service in descriptions():
        commands.update(service.commands)
    return commands


def build_app() -> App:
    """The application with all installed commands."""
    app = App(name="penstock", help=HELP, version=version_line, version_flags=["--version"])
    for name, (place, purpose) in all_commands().items():
        if find_spec(place.partition(":")[0]) is not None:
            app.command(place, name=name, help=purpose)
    return app


def run(arguments: list[str] | None = None) -> None:
    """The entry point of the console script.

    SIGTERM is handled like Ctrl-C, so that a terminated command stops what it started.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(status_of(sys.argv[1:] if arguments is None else arguments))


def status_of(arguments: list[str]) -> int:
    """Execute a command line and return its exit status."""
    try:
        result = build_app()(
            arguments, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        return _complain(f"{' '.join(str(error).split())} (see penstock --help)", MISUSED)
    except UserError as error:
        return _complain(str(error), error.status)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed the pipe; writing at exit would fail too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return result if isinstance(result, int) else 0


def _complain(what: str, status: int) -> int:
    print(f"penstock: {what}", file=sys.stderr)
    return status
