"""The ``penstock`` command: what it consists of, and how its errors are told.

Commands are imported when they are used, so ``penstock --version`` starts at once.  To add one, add
a line to ``COMMANDS``.  A mistake of the user, or a broker that says no, is one clear line on
standard error and a status:

| status | meaning |
| --- | --- |
| 0 | it worked |
| 1 | something went wrong, and the line says what |
| 2 | the command line or a file that it names is not understood |
| 3 | a scenario ran, and an expectation of it failed |
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
from penstock.version import version_line

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "up": (
        "penstock.cli.operations.up:up",
        "Start three brokers here, with a sample workload to look at.",
    ),
    "serve": ("penstock.cli.operations.serve:serve", "Run one broker."),
    "pub": ("penstock.cli.messaging.pub:pub", "Publish a message, or one for each line of input."),
    "sub": ("penstock.cli.messaging.sub:sub", "Print the messages that a selector selects."),
    "send": (
        "penstock.cli.messaging.queues:send",
        "Put messages into a queue, or send them to groups.",
    ),
    "receive": ("penstock.cli.messaging.queues:receive", "Take messages out of a queue."),
    "join": ("penstock.cli.messaging.groups:join", "Join groups, and print what they are sent."),
    "queue": ("penstock.cli.messaging.queues:queue", "Look after queues."),
    "gossip": (
        "penstock.cli.messaging.gossip:gossip",
        "Become a peer that broadcasts without a broker.",
    ),
    "log": (
        "penstock.cli.operations.log:log",
        "Check, trim and mend the logs of a stopped broker.",
    ),
    "why": ("penstock.cli.operations.why:why", "Say what slows a publisher down."),
    "subscriptions": (
        "penstock.cli.operations.subscriptions:subscriptions",
        "List the durable subscriptions of a broker, or delete one.",
    ),
    "explain": ("penstock.cli.operations.explain:explain", "Say how a selector is matched."),
    "bench": (
        "penstock.cli.operations.bench:bench",
        "Measure the throughput and latency of a broker.",
    ),
    "run": ("penstock.cli.laboratory.run:run", "Run a scenario, simulated or real."),
    "papers": ("penstock.cli.laboratory.papers:papers", "Run the experiments of the five papers."),
    "lake": ("penstock.cli.laboratory.lake:lake", "Land telemetry in a lake, and look after it."),
    "report": ("penstock.cli.laboratory.report:report", "Report on runs in a lake, with figures."),
    "sweep": (
        "penstock.cli.laboratory.sweep:sweep",
        "Run a scenario with many parameters and seeds.",
    ),
}
"""Where each command is, and what it is for."""

HELP: Final = """Message-oriented middleware that does not collapse under congestion.

`penstock up` starts a small network of brokers with a sample workload to look at. Commands that
talk to a broker take `--url`, or read PENSTOCK_URL.
"""


def build_app() -> App:
    """The application with every command that is installed."""
    app = App(name="penstock", help=HELP, version=version_line, version_flags=["--version"])
    for name, (place, purpose) in COMMANDS.items():
        if find_spec(place.partition(":")[0]) is not None:
            app.command(place, name=name, help=purpose)
    return app


def run(arguments: list[str] | None = None) -> None:
    """The entry point.

    A command that is terminated ends as one that is interrupted, and stops what it started.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(status_of(sys.argv[1:] if arguments is None else arguments))


def status_of(arguments: list[str]) -> int:
    """Carry out a command line and give its exit status."""
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
        # Whoever read our output has seen enough; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return result if isinstance(result, int) else 0


def _complain(what: str, status: int) -> int:
    print(f"penstock: {what}", file=sys.stderr)
    return status
