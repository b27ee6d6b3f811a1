"""``penstock run`` for services that have their own scenario format."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from penstock.cli.errors import EXPECTATION_FAILED, MISUSED, told_in_one_line
from penstock.cli.laboratory.run_display import verdict_table, with_progress
from penstock.lab.scenario.file import ScenarioError
from penstock.lab.service_runs import ServiceOutcome, ServiceRun, prepare
from penstock.lab.telemetry.run_records import RunFacts, run_name, service_records
from penstock.lab.telemetry.telemetry import RecordSink, Telemetry, TelemetryFile
from penstock.spark.lake.lake import LakeError, create_lake
from penstock.spark.lake.writer import RunLanding


class Wish(msgspec.Struct, frozen=True):
    """The options of one command line."""

    world: str
    seed: int
    out: Path | None = None
    lake: Path | None = None
    json: bool = False


def run_service(service: str, scenario: Path, wish: Wish) -> int:
    """Run a scenario file of this service, print the outcome and return the exit status."""
    with told_in_one_line(ScenarioError, status=MISUSED):
        prepared = prepare(service, scenario, wish.world, wish.seed)
    with told_in_one_line(LakeError, OSError):
        outcome = _run(prepared, wish)
    if wish.json:
        print(msgspec.json.encode(_document(prepared, outcome, wish)).decode())
    else:
        _show(prepared, outcome, wish)
    return 0 if _held(outcome) else EXPECTATION_FAILED


def _run(prepared: ServiceRun, wish: Wish) -> ServiceOutcome:
    name = run_name(prepared.name, wish.world, wish.seed)
    sinks: list[RecordSink] = []
    with ExitStack() as stack:
        if wish.out is not None:
            facts = {"scenario": prepared.name, "world": wish.world, "seed": str(wish.seed)}
            file = TelemetryFile(wish.out / f"{name}.parquet", name, facts)
            stack.callback(file.close)
            sinks.append(file)
        landing = None
        if wish.lake is not None:
            landing = stack.enter_context(RunLanding(create_lake(wish.lake), name))
            sinks.append(landing)
        telemetry = Telemetry(*sinks)
        outcome = with_progress(
            prepared.name, prepared.duration_s, lambda progress: prepared.run(telemetry, progress)
        )
        if landing is not None:
            origin = RunFacts(prepared.name, wish.world, wish.seed)
            duration_s, measured = prepared.duration_s, outcome.measured
            landing.commit(service_records(origin, duration_s, measured, telemetry.records))
    return outcome


def _held(outcome: ServiceOutcome) -> bool:
    return all(verdict.held for verdict in outcome.verdicts)


def _document(prepared: ServiceRun, outcome: ServiceOutcome, wish: Wish) -> dict[str, Any]:
    return {
        "scenario": prepared.name,
        "world": wish.world,
        "seed": wish.seed,
        "held": _held(outcome),
        **outcome.measured,
        "expectations": outcome.verdicts,
    }


def _show(prepared: ServiceRun, outcome: ServiceOutcome, wish: Wish) -> None:
    console = Console()
    console.print(
        f"[bold]{prepared.name}[/] in the {wish.world} world, seed {wish.seed}: {outcome.headline}"
    )
    if outcome.verdicts:
        console.print(verdict_table(outcome.verdicts))
    if wish.out is not None:
        console.print(f"telemetry in {wish.out}")
    if wish.lake is not None:
        console.print(f"landed in {wish.lake}")
