"""Displays a run on the terminal: its progress, then its verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from penstock.lab.result import RunResult
from penstock.lab.scenario.expectations import Verdict

Result = TypeVar("Result")


def with_progress(
    name: str, duration_s: float, run: Callable[[Callable[[float], None]], Result]
) -> Result:
    """Call ``run`` with a progress callback (elapsed seconds of the run) and display it."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=duration_s)
        return run(lambda at_s: progress.update(task, completed=at_s))


def service_table(result: RunResult) -> Table:
    """A table of the services: what they delivered, and whether they kept their promises."""
    table = Table("service", "delivered", "promises")
    for service, history in result.histories.items():
        judgement = result.judgements[service]
        broken = ", ".join(f"{count} {rule}" for rule, count in judgement.broken.items() if count)
        noted = ", ".join(f"{count} {what}" for what, count in judgement.noted.items() if count)
        kept = f"[red]broken: {broken}[/]" if broken else "[green]kept[/]"
        table.add_row(service, f"{history.delivered:,}", kept + (f" ({noted})" if noted else ""))
    for failure in result.failures:
        table.add_row("a broker", "", f"[red]{failure}[/]")
    return table


def verdict_table(verdicts: Iterable[Verdict]) -> Table:
    """A table of every expectation beside its measured value."""
    table = Table("expectation", "bound", "measured", "")
    for verdict in verdicts:
        measured = "–" if verdict.value is None else f"{verdict.value:g}"
        mark = "[green]held[/]" if verdict.held else f"[red]failed[/] {verdict.problem}"
        table.add_row(verdict.what, verdict.bound, measured, mark)
    return table
