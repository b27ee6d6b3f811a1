"""Runs held-out cases under both laws, on two processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Final, TypeAlias

from penstock.papers.held_out.case import LAWS, Law
from penstock.papers.held_out.score import CaseScore, run_case

WORKERS: Final = 2

RunsDone: TypeAlias = Callable[[int, int, str], None]
"""Receives the number of runs done, of all, and the name of the last one."""


def run_cases(
    seeds: Sequence[int],
    *,
    laws: Sequence[Law] = LAWS,
    workers: int = WORKERS,
    progress: RunsDone = lambda done, total, title: None,
) -> list[CaseScore]:
    """The scores of all cases, in the order of their seeds and laws."""
    jobs = [(seed, law) for seed in seeds for law in laws]
    if workers < 2 or len(jobs) < 2:
        found = {}
        for done, job in enumerate(jobs, 1):
            found[job] = run_job(*job)
            progress(done, len(jobs), _title(*job))
        return [found[job] for job in jobs]
    return _in_processes(jobs, workers, progress)


def _in_processes(
    jobs: Sequence[tuple[int, Law]], workers: int, progress: RunsDone
) -> list[CaseScore]:
    found = {}
    pool = ProcessPoolExecutor(min(workers, len(jobs)), mp_context=get_context("spawn"))
    try:
        pending = {pool.submit(run_job, *job): job for job in jobs}
        for future in as_completed(pending):
            found[pending[future]] = future.result()
            progress(len(found), len(jobs), _title(*pending[future]))
    finally:
        pool.shutdown(cancel_futures=True)
    return [found[job] for job in jobs]


def run_job(seed: int, law: Law) -> CaseScore:
    """One run; an error says which one it was."""
    try:
        return run_case(seed, law)
    except Exception as error:
        error.add_note(f"in the run {_title(seed, law)}")
        raise


def _title(seed: int, law: Law) -> str:
    return f"case {seed}, {law}"
