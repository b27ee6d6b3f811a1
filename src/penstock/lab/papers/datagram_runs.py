"""Which runs the table of the content-aware paper needs, and how they are carried out."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from typing import Final

import msgspec

from penstock.lab.papers.datagram_large import LargeRun, simulate_large
from penstock.lab.papers.datagram_result import DatagramRun
from penstock.lab.papers.datagram_scenario import (
    FLOWS,
    IMPROVED,
    RECORDS,
    UNCONTROLLED,
    Policy,
    load,
)
from penstock.lab.papers.datagram_simulation import simulate

WORKERS: Final = 2
"""Processes at once."""

LOAD: Final = "variable-load"
CAPACITY: Final = "variable-capacity"
FAIRNESS: Final = "fairness"
TCP: Final = "tcp"
TCP_THIN: Final = "tcp-thin"
DISJOINT: Final = "disjoint"
LARGE: Final = "large"

POLICIES: Final = (UNCONTROLLED, RECORDS, FLOWS, IMPROVED)
SCENARIOS: Final = (LOAD, CAPACITY, FAIRNESS, TCP, TCP_THIN, DISJOINT, LARGE)


class Task(msgspec.Struct, frozen=True):
    """One run."""

    scenario: str
    policy: Policy
    seed: int


Runs = dict[tuple[str, str], list[DatagramRun]]
LargeRuns = dict[str, list[LargeRun]]


def carry_out(task: Task) -> DatagramRun | LargeRun:
    """In a process of its own."""
    if task.scenario == LARGE:
        return simulate_large(task.policy, task.seed)
    return simulate(load(task.scenario), task.policy, task.seed)


def run_all(
    seeds: int, progress: Callable[[str], None], scenarios: tuple[str, ...] = SCENARIOS
) -> tuple[Runs, LargeRuns]:
    """Every run, for every policy and seed."""
    tasks = [
        Task(scenario, policy, seed)
        for scenario in scenarios
        for policy in POLICIES
        for seed in range(1, seeds + 1)
    ]
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
