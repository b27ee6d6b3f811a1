"""``penstock papers``: runs the experiments of the papers and prints one table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from rich.console import Console

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.cli.laboratory.drawing import need_matplotlib
from penstock.cli.laboratory.held_out import held_out as run_held_out
from penstock.cli.laboratory.progress import runs_bar
from penstock.core.configuration import suggestion
from penstock.lab.experiments.paper import Selection, installed_services, paper_of
from penstock.lab.experiments.runner import run_paper
from penstock.lab.experiments.table import PaperRow, render
from penstock.lab.scenario.error import ScenarioError


def papers(
    *,
    service: str = "",
    run: str = "",
    world: Literal["sim", "net"] | None = None,
    seeds: int | None = None,
    out: Path | None = None,
    json: bool = False,
    held_out: bool = False,
    cases: int | None = None,
    first_seed: int | None = None,
    case: int | None = None,
    write: Path | None = None,
    workers: int | None = None,
) -> None:
    """Run the papers' experiments; print the published results beside our measurements.

    Parameters
    ----------
    service
        Only this service: guaranteed, multicast, datagram, gossip or queues (default: all); of
        held-out cases also mixture.
    run
        Only one experiment, by its name, or the rows of the table whose run begins with this.
    world
        sim for the simulator (the default), net for processes on this machine.
    seeds
        How often each run is repeated (default: 5, some of them less often); the table shows
        medians.
    out
        Directory for the figures (default: out/papers).
    json
        Print the rows as JSON.
    held_out
        Run random cases instead, and print how far each law is from the optimum of each case.
    cases
        How many held-out cases (default: 200).
    first_seed
        The seed of the first held-out case (default: 1000); the others follow.
    case
        Run and explain the held-out case of this seed alone.
    write
        Also write every held-out case to this directory as scenario files for penstock run.
    workers
        How many held-out cases run at the same time (default: 2).
    """
    of_papers = {"run": run or None, "world": world, "seeds": seeds, "out": out}
    of_cases = {"cases": cases, "first-seed": first_seed, "write": write, "workers": workers}
    if held_out or case is not None:
        _refuse(of_papers, "is for the papers' experiments; leave it out, or leave out --held-out")
        run_held_out(
            service=service,
            cases=200 if cases is None else cases,
            first_seed=1000 if first_seed is None else first_seed,
            case=case,
            write=write,
            workers=2 if workers is None else workers,
            json=json,
        )
        return
    _refuse(of_cases, "is for held-out cases; add --held-out")
    _run_papers(
        service,
        run,
        world or "sim",
        seeds=5 if seeds is None else seeds,
        out=out or Path("out/papers"),
        json=json,
    )


def _refuse(options: Mapping[str, object | None], reason: str) -> None:
    """Refuse options that would have no effect."""
    for name, value in options.items():
        if value is not None:
            raise UserError(f"--{name} {reason}", MISUSED)


def _run_papers(service: str, run: str, world: str, *, seeds: int, out: Path, json: bool) -> None:
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
    with runs_bar(service) as (tell, say), told_in_one_line(ScenarioError):
        return run_paper(
            paper_of(service),
            part,
            seeds=seeds,
            out=out,
            progress=tell,
            left_out=lambda why: say(f"{service}: {why}"),
        )
