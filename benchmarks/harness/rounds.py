"""Interleaved rounds: every variant once in each, so that all meet the same machine.

1. All servers are started first; one that does not come up is left out, with its reason.
2. A run that fails is told with its reason, and is not tried again in later rounds.
3. The whole has a time limit, of which each measure has its part; what there was no time for is
   told too.
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
    """What came out, and what did not."""

    figures: dict[Key, list[Figures]] = {}
    problems: dict[Key, str] = {}
    absent: dict[str, str] = {}
    """Peers that were not there, and why."""
    unstopped: dict[str, str] = {}
    """Peers that did not end in good order, and what they said."""

    def medians(self, measure: Measure, variant: Variant, case: Case) -> Figures | None:
        """The median of each column, or None if there is no figure."""
        rounds = self.figures.get((measure.name, variant.name, case.name))
        if not rounds:
            return None
        names = {name: None for each in rounds for name in each}
        return {name: median(each[name] for each in rounds if name in each) for name in names}

    def problem(self, measure: Measure, variant: Variant, case: Case) -> str:
        """Why there is no figure; empty if nothing went wrong."""
        return self.problems.get((measure.name, variant.name, case.name), "")


def run_all(
    measures: Sequence[Measure], peers: Sequence[Peer], scale: Scale, limit_s: float
) -> Results:
    """Put every question to every peer that is here."""
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
    """A benchmark that is told to end takes its servers with it."""
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
    """End a server; one that resists takes no result with it."""
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
