"""The runs that the table of the content-aware paper needs, and their execution.

1. The policies that have a bar, and those that they are compared with number by number, run with
   every seed.
2. A policy that is only shown beside them, in a row without a bar or in a figure, runs with the
   first seed alone; its row says so.
3. The longest runs begin first, so that no processor is idle at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from typing import Final

import msgspec

from penstock.papers.content_aware.large import LargeRun, simulate_large
from penstock.papers.content_aware.result import DatagramRun
from penstock.papers.content_aware.scenario import (
    FLOWS,
    IMPROVED,
    RECORDS,
    UNCONTROLLED,
    Policy,
    load,
)
from penstock.papers.content_aware.simulation import simulate

WORKERS: Final = 2
"""Concurrent processes."""

LOAD: Final = "variable-load"
CAPACITY: Final = "variable-capacity"
FAIRNESS: Final = "fairness"
TCP: Final = "tcp"
TCP_THIN: Final = "tcp-thin"
DISJOINT: Final = "disjoint"
LARGE: Final = "large"


class Plan(msgspec.Struct, frozen=True):
    """The policies and seeds of one scenario."""

    scenario: str
    every_seed: tuple[Policy, ...]
    first_seed: tuple[Policy, ...] = ()


PLANS: Final = (
    Plan(FAIRNESS, (FLOWS, IMPROVED), (UNCONTROLLED, RECORDS)),
    Plan(CAPACITY, (FLOWS, IMPROVED), (UNCONTROLLED,)),
    Plan(TCP_THIN, (FLOWS, IMPROVED), (UNCONTROLLED, RECORDS)),
    Plan(LOAD, (UNCONTROLLED, FLOWS, IMPROVED), (RECORDS,)),
    Plan(LARGE, (UNCONTROLLED, FLOWS, IMPROVED), (RECORDS,)),
    Plan(TCP, (FLOWS, IMPROVED), (UNCONTROLLED, RECORDS)),
    Plan(DISJOINT, (UNCONTROLLED, FLOWS, IMPROVED)),
)
"""The longest first."""


class Task(msgspec.Struct, frozen=True):
    """One run."""

    scenario: str
    policy: Policy
    seed: int


Runs = dict[tuple[str, str], list[DatagramRun]]
LargeRuns = dict[str, list[LargeRun]]


def tasks_of(plans: tuple[Plan, ...], seeds: int) -> list[Task]:
    """Every run of these plans; those of one policy in the order of the seeds."""
    tasks: list[Task] = []
    for plan in plans:
        for policy in plan.every_seed:
            tasks += [Task(plan.scenario, policy, seed) for seed in range(1, seeds + 1)]
        tasks += [Task(plan.scenario, policy, 1) for policy in plan.first_seed]
    return tasks


def carry_out(task: Task) -> DatagramRun | LargeRun:
    """Execute a run, in a separate process."""
    if task.scenario == LARGE:
        return simulate_large(task.policy, task.seed)
    return simulate(load(task.scenario), task.policy, task.seed)


def run_all(
    seeds: int, progress: Callable[[str], None], plans: tuple[Plan, ...] = PLANS
) -> tuple[Runs, LargeRuns]:
    """Every run of these plans."""
    tasks = tasks_of(plans, seeds)
    runs: Runs = {}
    large: LargeRuns = {}
    with get_context("spawn").Pool(WORKERS) as pool:
        for number, (task, result) in enumerate(
            zip(tasks, pool.imap(carry_out, tasks), strict=True), 1
        ):
            progress(f"{number} of {len(tasks)}: {task.scenario}, {task.policy.name}")
            if isinstance(result, LargeRun):
                large.setdefault(task.policy.name, []).append(result)
            else:
                runs.setdefault((task.scenario, task.policy.name), []).append(result)
    return runs, large
