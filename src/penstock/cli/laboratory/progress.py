"""A progress bar for commands that make many runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from penstock.lab.experiments.runner import RunsDone


@contextmanager
def runs_bar(title: str) -> Iterator[tuple[RunsDone, Callable[[str], None]]]:
    """A progress bar on standard error, and how to print a line beside it."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    text = TextColumn("{task.description}")
    console = Console(stderr=True)
    with Progress(text, *columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=None)

        def tell(done: int, total: int, current: str) -> None:
            progress.update(task, completed=done, total=total, description=f"{title}: {current}")

        yield tell, console.print
