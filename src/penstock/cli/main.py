"""The ``penstock`` command: what it consists of, and how its errors are told.

Commands are imported when they are used, so ``penstock --version`` starts at once.  A mistake of the
user, or a broker that says no, is one clear line on standard error and a status:

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
import sys

from cyclopts import App, CycloptsError

from penstock.cli.errors import FAILED, INTERRUPTED, MISUSED, UserError
from penstock.version import __version__

app = App(
    name="penstock",
    version=__version__,
    help="Message-oriented middleware that does not collapse under congestion.",
)
app.command("penstock.cli.up:up")
app.command("penstock.cli.serve:serve")
app.command("penstock.cli.pub:pub")
app.command("penstock.cli.sub:sub")
app.command("penstock.cli.run:run")
app.command("penstock.cli.why:why")
app.command("penstock.cli.explain:explain")
app.command("penstock.cli.papers:papers")


def run(arguments: list[str] | None = None) -> None:
    """The entry point."""
    sys.exit(status_of(sys.argv[1:] if arguments is None else arguments))


def status_of(arguments: list[str]) -> int:
    """Carry out a command line and give its exit status."""
    try:
        result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _complain(str(error).strip().splitlines()[0], MISUSED)
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
