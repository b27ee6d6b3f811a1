"""The command line: which commands there are, and how any of them ends.

Commands are imported when they are called, so that ``penstock --version`` does not pay for numpy,
the network or the simulator.  To add a command, add a line to ``COMMANDS``.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Final

from cyclopts import App, CycloptsError

from penstock.cli.errors import INTERRUPTED, MISUSED, UserError
from penstock.version import __version__

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "up": ("penstock.cli.up:up", "Start three brokers here, with a sample workload to look at."),
    "serve": ("penstock.cli.serve:serve", "Run one broker."),
    "pub": ("penstock.cli.pub:pub", "Publish a message, or one for each line of input."),
    "sub": ("penstock.cli.sub:sub", "Print the messages that a selector selects."),
    "send": ("penstock.cli.queues:send", "Put messages into a queue."),
    "receive": ("penstock.cli.queues:receive", "Take messages out of a queue."),
    "queue": ("penstock.cli.queues:queue", "Look after queues."),
    "gossip": ("penstock.cli.gossip:gossip", "Become a peer that broadcasts without a broker."),
    "why": ("penstock.cli.why:why", "Say what slows a publisher down."),
    "explain": ("penstock.cli.explain:explain", "Say how a selector is matched."),
    "run": ("penstock.cli.run:run", "Run a scenario, simulated or real."),
    "papers": ("penstock.cli.papers:papers", "Run the experiments of the five papers."),
}
"""Where each command is, and what it is for."""

HELP: Final = """Message-oriented middleware that does not collapse under congestion.

`penstock up` starts a small network of brokers with a sample workload to look at. Commands that
talk to a broker take `--url`, or read PENSTOCK_URL.
"""


def build_app() -> App:
    """The application with every command that is installed."""
    app = App(name="penstock", help=HELP, version=__version__, version_flags=["--version"])
    for name, (place, purpose) in COMMANDS.items():
        if find_spec(place.partition(":")[0]) is not None:
            app.command(place, name=name, help=purpose)
    return app


def run() -> None:
    """The entry point: ends the process with the command's status."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    """Run a command and return its status; whatever goes wrong is told in one line."""
    try:
        result = build_app()(arguments, exit_on_error=False, print_error=False, result_action=None)
    except CycloptsError as error:
        return _complain(f"{' '.join(str(error).split())} (see penstock --help)", MISUSED)
    except UserError as error:
        return _complain(str(error), error.status)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does; nothing may be written any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return result if isinstance(result, int) else 0


def _complain(what: str, status: int) -> int:
    print(f"penstock: {what}", file=sys.stderr)
    return status
