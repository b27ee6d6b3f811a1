"""``penstock papers``: runs every experiment of the papers and prints one table."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from penstock.cli.errors import MISUSED, UserError
from penstock.papers.run import installed_services, run_service
from penstock.papers.table import PaperRow, render


def papers(
    *,
    service: str = "",
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
    world
        sim for the simulator, net for processes on this machine.
    seeds
        How often each simulated run is repeated (and each live run of the datagram service, at
        most three times); the table shows medians.
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
    rows: list[PaperRow] = []
    for name in [service] if service else services:
        rows += _run(name, world, seeds, out)
    if json:
        print(msgspec.json.encode(rows).decode())
        return
    console = Console()
    width = None if console.is_terminal else 200
    Console(width=width).print(render(rows, f"The papers ({world}, figures in {out})"))


def _run(service: str, world: str, seeds: int, out: Path) -> list[PaperRow]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(service)

        def tell(what: str) -> None:
            progress.update(task, description=f"{service}: {what}")

        return run_service(service, world=world, seeds=seeds, out=out, progress=tell)
