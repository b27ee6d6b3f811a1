"""``penstock papers``: every experiment of the five papers, as one table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import msgspec
from rich.console import Console

from penstock.cli.errors import EXPECTATION_FAILED, MISUSED, UserError
from penstock.lab.papers.run import TITLES, installed_services, run_service
from penstock.lab.papers.table import PaperRow, render


def papers(
    *,
    service: str = "",
    world: Literal["sim", "net"] = "sim",
    seeds: int = 5,
    out: Path = Path("papers-out"),
    json: bool = False,
) -> int:
    """Run the papers' experiments and compare; fails if something is not reproduced.

    Parameters
    ----------
    service
        One service only.
    world
        sim for virtual time, net for real processes on this machine.
    seeds
        Runs for each figure; medians are shown.
    out
        A directory for the figures.
    json
        Print the table as JSON.
    """
    services = installed_services()
    if service and service not in services:
        raise UserError(f"--service {service!r}: there are {', '.join(services)}", MISUSED)
    if seeds < 1:
        raise UserError("--seeds: at least 1", MISUSED)
    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    rows: list[PaperRow] = []
    for name in [service] if service else services:
        found = run_service(name, world=world, seeds=seeds, out=out, progress=_tell)
        rows += found
        if not json:
            console.print(render(found, TITLES[name]))
    if json:
        print(msgspec.json.encode(rows).decode())
    else:
        console.print(f"figures: {out}", highlight=False)
    return EXPECTATION_FAILED if any(row.verdict == "not reproduced" for row in rows) else 0


def _tell(what: str) -> None:
    print(what, file=sys.stderr)
