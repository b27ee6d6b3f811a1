"""Interleaved rounds: every variant once in each, so that all see the same machine load.

1. All servers are started first; one that fails to start is left out, and its reason is reported.
2. A failed run is reported with its reason, and is not repeated in later rounds.
3. There is a total time limit, of which each measure has its part; runs for which there was no time
   are reported too.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from benchmarks.harness.server import Server
from benchmarks.measures.measure import Case, Figures, Measure, Scale
from benchmarks.peers.peer import Peer, Variant

NO_TIME: Final = "not run: the time was used up"

Key = tuple[str, str, str]
"""The names of measure, variant and case."""

Servers = list[tuple[Peer, Server]]


class Results(msgspec.Struct):
    """The figures, and the reasons for missing ones."""

    figures: dict[Key, list[Figures]] = {}
    problems: dict[Key, str] = {}
    absent: dict[str, str] = {}
    """Peers that could not be started, and why."""
    unstopped: dict[str, str] = {}
    """Peers that did not stop cleanly, and their output."""

    def medians(self, measure: Measure, variant: Variant, case: Case) -> Figures | None:
        """The median of each column, or None if there is no figure."""
        rounds = self.figures.get((measure.name, variant.name, case.name))
        if not rounds:
            return None
        names = {name: None for each in rounds for name in each}
        return {name: median(each[name] for each in rounds if name in each) for name in names}

    def problem(self, measure: Measure, variant: Variant, case: Case) -> str:
        """Why there is no figure; empty if there was no problem."""
        return self.problems.get((measure.name, variant.name, case.name), "")


def run_all(
    measures: Sequence[Measure], peers: Sequence[Peer], scale: Scale, limit_s: float
) -> Results:
    """Run every measure with every available peer."""
    results = Results()
    with _ended_in_order(), _started(peers, results) as servers:
        ends = time.monotonic() + limit_s
        for place, measure in enumerate(measures):
            left_s = ends - time.monotonic()
            until = time.monotonic() + left_s / (len(measures) - place)
            _run_measure(measure, servers, scale, until, results)
    return results


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Stop the servers when the benchmark is terminated."""
    before = signal.signal(
        signal.SIGTERM, lambda number, frame: sys.exit(f"ended by signal {number}")
    )
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _started(peers: Sequence[Peer], results: Results) -> Iterator[Servers]:
    servers: Servers = []
    with ExitStack() as stack:
        prefix = "penstock-bench-"
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
        for number, peer in enumerate(peers):
            if not peer.is_installed:
                results.absent[peer.name] = f"not installed: {peer.source}"
                continue
            place = root / str(number)
            place.mkdir()
            starting = peer.start(place)
            try:
                servers.append((peer, starting.__enter__()))
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                results.absent[peer.name] = _in_one_line(error)
            else:
                stack.callback(_stop, peer, starting, results)
        for name, reason in results.absent.items():
            print(f"{name}: {reason}", flush=True)
        yield servers


def _stop(peer: Peer, started: AbstractContextManager[Server], results: Results) -> None:
    """Stop a server; a failure to stop does not affect the results."""
    try:
        started.__exit__(None, None, None)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        results.unstopped[peer.name] = _in_one_line(error)
        print(f"{peer.name}: {results.unstopped[peer.name]}", flush=True)


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _run_measure(
    measure: Measure, servers: Servers, scale: Scale, until: float, results: Results
) -> None:
    print(f"== {measure.title}", flush=True)
    for _ in range(measure.rounds(scale)):
        for peer, server in servers:
            for variant in filter(measure.applies, peer.variants):
                for case in measure.cases(scale):
                    _run_once(measure, variant, server, case, scale, until, results)


def _run_once(
    measure: Measure,
    variant: Variant,
    server: Server,
    case: Case,
    scale: Scale,
    until: float,
    results: Results,
) -> None:
    key = (measure.name, variant.name, case.name)
    if key in results.problems:
        return
    if not variant.is_installed:
        results.problems[key] = (
            f"not installed: the Python module {variant.module} (benchmarks/requirements.txt)"
        )
        return
    if time.monotonic() > until:
        if key not in results.figures:
            results.problems[key] = NO_TIME
        return
    try:
        figures = measure.run(variant, server, case, scale)
    except (OSError, RuntimeError, ValueError) as error:
        said = results.problems[key] = _in_one_line(error)
    else:
        results.figures.setdefault(key, []).append(figures)
        said = ", ".join(
            f"{column.form.format(figures[column.name])} {column.name}"
            for column in measure.columns
            if column.name in figures
        )
    print(f"{variant.name:38} {case.name:>12}: {said}", flush=True)
