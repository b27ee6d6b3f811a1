"""``penstock run``: runs a scenario in the simulator or as processes on this machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import msgspec
from rich.console import Console

from penstock.cli.errors import EXPECTATION_FAILED, MISUSED, told_in_one_line
from penstock.cli.laboratory.run_display import service_table, verdict_table, with_progress
from penstock.lab.result import RunResult
from penstock.lab.run import run as run_scenario
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.expectations import Verdict, judge_expectations
from penstock.lab.scenario.file import load_scenario
from penstock.lab.scenario.shortened import shortened
from penstock.lab.telemetry.run_records import run_name, run_records
from penstock.lab.telemetry.telemetry import RecordSink, Telemetry, TelemetryFile
from penstock.lab.worlds.choice import world_of
from penstock.lab.worlds.namespaces import NoNamespaces
from penstock.lab.worlds.world import UnsupportedHere
from penstock.net.process import BrokerFailed
from penstock.spark.lake.lake import create_lake
from penstock.spark.lake.writer import RunLanding
from penstock.spark.tables.table import TableError


def run(
    scenario: Path,
    /,
    *,
    world: Literal["sim", "net", "arrays"] = "sim",
    seed: int = 1,
    shorten: float = 1.0,
    namespaces: bool = False,
    out: Path | None = None,
    lake: Path | None = None,
    json: bool = False,
) -> int:
    """Run a scenario, print the outcome, and fail if one of its expectations failed.

    Parameters
    ----------
    scenario
        A scenario file (docs/reference/scenario.md).
    world
        sim for virtual time, net for real processes on this machine, arrays for a service that
        can run as arrays over all its clients, at scales that machines do not reach.
    seed
        The seed of a simulated run; the same seed gives the same run.
    shorten
        Divide all times of the scenario by this factor, at the same rates.
    namespaces
        Give every process of the net world a network of its own, which the kernel limits (root).
    out
        Directory for the telemetry (Parquet).
    lake
        A telemetry lake to write the run to, for penstock report; created if it does not exist.
    json
        Print the outcome as JSON.
    """
    with told_in_one_line(ScenarioError, status=MISUSED):
        plan = load_scenario(scenario)
        if shorten != 1:
            plan = shortened(plan, shorten)
    name = run_name(plan.name, world, seed)
    with (
        told_in_one_line(
            ScenarioError, UnsupportedHere, NoNamespaces, BrokerFailed, TableError, OSError
        ),
        ExitStack() as stack,
    ):
        sinks: list[RecordSink] = []
        if out is not None:
            facts = {"scenario": plan.name, "world": world, "seed": str(seed)}
            sinks.append(TelemetryFile(out / f"{name}.parquet", name, facts))
        landing = None
        if lake is not None:
            landing = stack.enter_context(RunLanding(create_lake(lake), name))
            sinks.append(landing)
        made = world_of(world, plan, seed, Telemetry(*sinks), namespaces=namespaces)
        result = with_progress(
            plan.name, plan.duration_s, lambda progress: run_scenario(made, progress)
        )
        if landing is not None:
            landing.commit(run_records(result))
    verdicts = judge_expectations(result)
    if json:
        print(msgspec.json.encode(_document(result, verdicts)).decode())
    else:
        _show(result, verdicts, out)
        if lake is not None:
            Console().print(f"written to the lake; see: penstock report {name} --lake {lake}")
    return 0 if all(verdict.held for verdict in verdicts) else EXPECTATION_FAILED


def _document(result: RunResult, verdicts: list[Verdict]) -> dict[str, Any]:
    return {
        "scenario": result.scenario.name,
        "world": result.world,
        "seed": result.seed,
        "held": all(verdict.held for verdict in verdicts),
        "services": {
            name: {
                "delivered": history.delivered,
                "rules": result.judgements[name].broken,
                "noted": result.judgements[name].noted,
            }
            for name, history in result.histories.items()
        },
        "violations": result.judgement.violations,
        "examples": result.judgement.examples,
        "expectations": verdicts,
    }


def _show(result: RunResult, verdicts: list[Verdict], out: Path | None) -> None:
    console = Console()
    console.print(
        f"[bold]{result.scenario.name}[/] in the {result.world} world, seed {result.seed}",
        highlight=False,
    )
    console.print(service_table(result))
    for example in result.judgement.examples:
        console.print(f"[red]broken:[/] {example}", highlight=False)
    if verdicts:
        console.print(verdict_table(verdicts))
    if out is not None:
        console.print(f"telemetry in {out}")
