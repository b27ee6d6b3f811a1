"""``penstock papers --held-out``: random cases, how far each law is from their optimum, and why."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import msgspec
from rich.console import Console

from penstock.cli.errors import MISUSED, UserError
from penstock.cli.laboratory.drawing import HINT
from penstock.cli.laboratory.progress import runs_bar
from penstock.lab.scenario.write import to_toml
from penstock.papers.held_out.case import LAWS, NAMES
from penstock.papers.held_out.explanation import explained
from penstock.papers.held_out.generator import DRAWS, case_of, seeds_from
from penstock.papers.held_out.runner import run_cases
from penstock.papers.held_out.score import CaseScore
from penstock.papers.held_out.table import HeldOutRow, happened, render, rows_of, worst_cases


class HeldOutReport(msgspec.Struct, frozen=True):
    """What ``--json`` prints."""

    rows: list[HeldOutRow]
    cases: list[CaseScore]


def held_out(
    *,
    service: str,
    cases: int,
    first_seed: int,
    case: int | None,
    write: Path | None,
    workers: int,
    json: bool,
) -> None:
    """Run the cases and print the table, or explain a single one."""
    if service and service not in DRAWS:
        raise UserError(f"--service {service!r}: must be one of {', '.join(DRAWS)}", MISUSED)
    if cases < 1 or workers < 1 or first_seed < 0:
        raise UserError("--cases, --workers and --first-seed must not be negative or 0", MISUSED)
    if find_spec("scipy") is None:
        raise UserError(f"penstock papers --held-out needs scipy, which is not installed: {HINT}")
    seeds = seeds_from(first_seed, cases, service) if case is None else [case]
    if write is not None:
        _write(seeds, write)
    with runs_bar("held-out cases") as (tell, _):
        scores = run_cases(seeds, workers=workers, progress=tell)
    if json:
        print(msgspec.json.encode(HeldOutReport(rows_of(scores), scores)).decode())
    elif case is not None:
        print(explained(case_of(case), scores))
    else:
        _print(scores, first_seed)


def _write(seeds: list[int], folder: Path) -> None:
    """Every case as a scenario file for each law, which ``penstock run`` takes."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        drawn = case_of(seed)
        for law in LAWS:
            scenario = drawn.with_law(law)
            (folder / f"{scenario.name}.toml").write_text(to_toml(scenario), encoding="utf-8")


def _print(scores: list[CaseScore], first_seed: int) -> None:
    wide = Console(width=None if Console().is_terminal else 200)
    count = len({each.seed for each in scores})
    wide.print(render(rows_of(scores), f"{count} held-out cases from seed {first_seed}"))
    for law in LAWS:
        own = [each for each in scores if each.law == law]
        print(f"Worst cases of the {NAMES[law]} law (penstock papers --case SEED explains one):")
        for each in worst_cases(own):
            print(f"  {each.seed} {each.kind}, {each.utilisation:.3f}: {happened(each)}")
