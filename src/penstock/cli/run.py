"""``penstock run``: a scenario, in the simulator or as processes on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from penstock.cli.errors import EXPECTATION_FAILED, MISUSED, told_in_one_line
from penstock.lab.expectations import Verdict, judge_expectations
from penstock.lab.result import RunResult
from penstock.lab.run import UnsupportedFault, World
from penstock.lab.run import run as run_scenario
from penstock.lab.run_net import NetRun
from penstock.lab.run_sim import SimRun
from penstock.lab.scenario import Scenario
from penstock.lab.scenario_file import ScenarioError, load_scenario
from penstock.lab.telemetry import Telemetry, TelemetryFile
from penstock.net.process import BrokerFailed


def run(
    scenario: Path,
    /,
    *,
    world: Literal["sim", "net"] = "sim",
    seed: int = 1,
    out: Path | None = None,
    json: bool = False,
) -> int:
    """Run a scenario, print what happened, and fail if an expectation of it failed.

    Parameters
    ----------
    scenario
        A scenario file (docs/reference/scenario.md).
    world
        sim for virtual time, net for real processes on this machine.
    seed
        What a simulated run depends on.
    out
        A directory for the telemetry (Parquet).
    json
        Print the outcome as JSON.
    """
    with told_in_one_line(ScenarioError, status=MISUSED):
        plan = load_scenario(scenario)
    telemetry = Telemetry(_file(plan, world, seed, out))
    with told_in_one_line(UnsupportedFault, BrokerFailed, OSError):
        result = _run(plan, world, seed, telemetry)
    verdicts = judge_expectations(result)
    if json:
        print(msgspec.json.encode(_document(result, verdicts)).decode())
    else:
        _show(result, verdicts, out)
    return 0 if all(verdict.held for verdict in verdicts) else EXPECTATION_FAILED


def _file(plan: Scenario, world: str, seed: int, out: Path | None) -> TelemetryFile | None:
    if out is None:
        return None
    name = f"{plan.name}-{world}-{seed}"
    facts = {"scenario": plan.name, "world": world, "seed": str(seed)}
    return TelemetryFile(out / f"{name}.parquet", name, facts)


def _run(plan: Scenario, world: str, seed: int, telemetry: Telemetry) -> RunResult:
    made: World = SimRun(plan, seed, telemetry) if world == "sim" else NetRun(plan, seed, telemetry)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(plan.name, total=plan.duration_s)
        return run_scenario(plan, made, lambda at_s: progress.update(task, completed=at_s))


def _document(result: RunResult, verdicts: list[Verdict]) -> dict[str, Any]:
    return {
        "scenario": result.scenario.name,
        "world": result.world,
        "seed": result.seed,
        "held": all(verdict.held for verdict in verdicts),
        "delivered": result.history.delivered,
        "violations": result.judgement.violations,
        "expectations": verdicts,
    }


def _show(result: RunResult, verdicts: list[Verdict], out: Path | None) -> None:
    console = Console()
    judgement = result.judgement
    console.print(
        f"[bold]{result.scenario.name}[/] in the {result.world} world, seed {result.seed}: "
        f"{result.history.delivered} messages delivered, {judgement.lost} lost, "
        f"{judgement.duplicated} twice, {judgement.out_of_order} out of order"
    )
    if verdicts:
        table = Table("expectation", "bound", "measured", "")
        for verdict in verdicts:
            measured = "–" if verdict.value is None else f"{verdict.value:g}"
            mark = "[green]held[/]" if verdict.held else f"[red]failed[/] {verdict.problem}"
            table.add_row(verdict.what, verdict.bound, measured, mark)
        console.print(table)
    if out is not None:
        console.print(f"telemetry in {out}")
