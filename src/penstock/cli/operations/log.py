"""``log check``, ``log trim`` and ``log salvage``: the logs of a stopped broker.

The commands work on a data directory, and refuse one that a broker has open.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Parameter

from penstock.cli.errors import FAILED, told_in_one_line
from penstock.store.interface import StoreError
from penstock.store.repair.inspection import LogFindings
from penstock.store.repair.salvage import (
    StoreFindings,
    held,
    inspect_store,
    salvage_log,
    salvage_state,
    trim_log,
)

log = App(name="log", help="Check, trim and repair the logs of a stopped broker.")

DataDirectory = Annotated[Path, Parameter(help="The broker's data_dir.")]

COST_OF_VALUES: Final = {
    "durable/": "the durable subscription is gone: create it again, with its start position",
    "cursor/": "the cursor is gone: its user must move it again",
    "pubend/": "the pubend recovers what it can from its log; trimmed messages that a producer "
    "publishes again may be stored twice",
    "queue/": "messages that a producer sends again may be stored twice",
    "alias/": "messages that a producer sends again may be stored twice, and the destinations are "
    "those of the configuration",
    "sink/": "an epoch that was being committed may be published again or not at all",
}
"""What the loss of a state value means for the operator, by the prefix of its key."""

COST_OF_STATE: Final = (
    "durable subscriptions and cursors are gone, trimmed messages may reappear, and messages that "
    "producers send again may be stored twice"
)


@log.command(name="check")
def check(data_dir: DataDirectory) -> int:
    """Read everything in a data directory, and print what is damaged or missing.

    Changes nothing.  The exit status is 1 if anything is damaged.
    """
    with told_in_one_line(StoreError, OSError), held(data_dir):
        findings = inspect_store(data_dir)
    _print_state(findings)
    for each in findings.logs:
        print(_summary(each))
        notes = [note for segment in each.segments for note in segment.notes]
        for problem in [*each.all_problems(), *notes]:
            print(f"  {problem}")
        for low, high in each.account.lost:
            print(f"  [{low}, {high}) is recorded as lost")
    if findings.is_sound:
        print("no damage found")
        return 0
    print(f"to repair: penstock log salvage {data_dir}")
    return FAILED


@log.command(name="trim")
def trim(
    data_dir: DataDirectory,
    name: Annotated[str, Parameter(help="The log as check prints it, for instance pubend/NAME.")],
    below: Annotated[int, Parameter(help="The first tick that is kept.")],
) -> None:
    """Discard everything below a tick in a log.

    Readers whose position is below that tick receive DataLoss.
    """
    with told_in_one_line(StoreError, OSError), held(data_dir):
        print(_summary(trim_log(data_dir, name, below)))


@log.command(name="salvage")
def salvage(data_dir: DataDirectory, *, new_state: bool = False) -> None:
    """Make damaged logs and a damaged state readable again, without the lost parts.

    The damaged files are kept in the directory `damaged` of the data directory.

    Parameters
    ----------
    new_state
        Start an empty state if the old one is missing or unreadable.
    """
    with told_in_one_line(StoreError, OSError), held(data_dir):
        findings = inspect_store(data_dir)
        done = salvage_state(data_dir, findings, new_state=new_state)
        done += [f"  {_cost(key)}" for kind, key in findings.damaged_entries if kind == "value"]
        if done and new_state:
            done.append(f"  {COST_OF_STATE}")
        for each in inspect_store(data_dir).logs if done else findings.logs:
            done += salvage_log(data_dir, each)
    print("\n".join(done) if done else "nothing to repair")


def _print_state(findings: StoreFindings) -> None:
    print(f"state: {findings.state_problem or 'good'}")


def _summary(found: LogFindings) -> str:
    count = len(found.segments)
    segments = "1 segment" if count == 1 else f"{count} segments"
    return f"{found.name}: {segments}, {found.used_bytes} bytes, ticks [{found.first}, {found.end})"


def _cost(key: str) -> str:
    for start, cost in COST_OF_VALUES.items():
        if key.startswith(start):
            return cost
    return "the broker starts this part of its state empty"
