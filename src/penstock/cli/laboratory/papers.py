"""``penstock papers``: runs the experiments of the papers and prints one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.cli.laboratory.drawing import need_matplotlib
from penstock.core.configuration import suggestion
from penstock.lab.experiments.paper import Selection, installed_services, paper_of
from penstock.lab.experiments.runner import RunsDone, run_paper
from penstock.lab.experiments.table import PaperRow, render
from penstock.lab.scenario.error import ScenarioError


def papers(
    *,
    service: str = "",
    run: str = "",
    world: Literal["sim", "net"] = "sim",
    seeds: int = 5,
    out: Path = Path("out/papers"),
    json: bool = False,
) -> None:
    """Run the papers' experiments; print the published results beside our measurements.

    Parameters
    ----------
    service
        Only this service: guaranteed, multicast, datagram, gossip or queues (default: all).
    run
        Only one experiment, by its name, or the rows of the table whose run begins with this.
    world
        sim for the simulator, net for processes on this machine.
    seeds
        How often each run is repeated (some of them less often); the table shows medians.
    out
        Directory for the figures.
    json
        Print the rows as JSON.
    """
    services = installed_services()
    if service and service not in services:
        known = ", ".join(services)
        raise UserError(f"--service {service!r}: must be one of {known}", MISUSED)
    if seeds < 1:
        raise UserError(f"--seeds {seeds}: must be at least 1", MISUSED)
    need_matplotlib("papers")
    rows: list[PaperRow] = []
    for name, part in _parts([service] if service else services, run, world).items():
        rows += _run(name, part, seeds, out)
    if json:
        print(msgspec.json.encode(rows).decode())
        return
    console = Console()
    width = None if console.is_terminal else 200
    Console(width=width).print(render(rows, f"The papers (figures in {out})"))


def _parts(services: list[str], run: str, world: str) -> dict[str, Selection]:
    """What is run of each paper: everything in a world, or what is called so."""
    papers = {each: paper_of(each) for each in services}
    if not run:
        return {name: paper.of_world(world) for name, paper in papers.items()}
    parts = {name: paper.chosen(run, world) for name, paper in papers.items()}
    found = {name: part for name, part in parts.items() if part.experiments}
    if not found:
        names = list(dict.fromkeys(name for paper in papers.values() for name in paper.names()))
        nearest = suggestion(run, names)
        listed = "" if nearest.startswith("known") else f" known are {', '.join(names)}"
        raise UserError(f"--run {run!r}: there is no such run; {nearest}{listed}", MISUSED)
    return found


def _run(service: str, part: Selection, seeds: int, out: Path) -> list[PaperRow]:
    with _bar(service) as (tell, say), told_in_one_line(ScenarioError):
        return run_paper(
            paper_of(service),
            part,
            seeds=seeds,
            out=out,
            progress=tell,
            left_out=lambda why: say(f"{service}: {why}"),
        )


@contextmanager
def _bar(service: str) -> Iterator[tuple[RunsDone, Callable[[str], None]]]:
    """A progress bar on standard error, and how to print a line beside it."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    text = TextColumn("{task.description}")
    console = Console(stderr=True)
    with Progress(text, *columns, console=console, transient=True) as progress:
        task = progress.add_task(service, total=None)

        def tell(done: int, total: int, current: str) -> None:
            progress.update(task, completed=done, total=total, description=f"{service}: {current}")

        yield tell, console.print
