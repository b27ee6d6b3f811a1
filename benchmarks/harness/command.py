"""The command line that all measures share, and how they write results into a document.

``--write`` writes the tables into a document, between the lines ``MARK_BEGIN`` and ``MARK_END``.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness.rounds import run_all
from benchmarks.harness.tables import lines
from benchmarks.measures.measure import SCALES, Measure
from benchmarks.peers.registry import chosen

MARK_BEGIN: Final = "<!-- side by side: begin -->"
MARK_END: Final = "<!-- side by side: end -->"
MINUTES: Final = 28.0
"""For all measures; with starting and stopping the servers the total is half an hour."""


def alone(measure: Measure) -> None:
    """Run one measure as a command of its own."""
    run_command([measure], f"python -m benchmarks.measures.{measure.name}", measure.title)


def run_command(measures: Sequence[Measure], command: str, about: str) -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(prog=command, description=about)
    parser.add_argument("--scale", choices=SCALES, default="full", help="small is for a trial")
    parser.add_argument("--peers", nargs="*", default=[], help="prefixes of peers' names")
    parser.add_argument("--variants", nargs="*", default=[], help="prefixes of variants' names")
    parser.add_argument("--measures", nargs="*", default=[], help="names; default: all")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="time limit")
    parser.add_argument("--write", type=Path, help="a document with marks to write between")
    arguments = parser.parse_args()
    names = [measure.name for measure in measures]
    for name in arguments.measures:
        if name not in names:
            parser.error(f"there is no measure {name!r}; there are: {', '.join(names)}")
    wanted = [
        each for each in measures if not arguments.measures or each.name in arguments.measures
    ]
    peers = chosen(arguments.peers, arguments.variants)
    if not peers:
        wish = " or ".join(arguments.peers + arguments.variants)
        parser.error(f"no name of a peer or of a variant begins with {wish}")
    if arguments.write is not None:
        check_marks(arguments.write)
    scale = SCALES[arguments.scale]
    results = run_all(wanted, peers, scale, arguments.minutes * 60)
    said = " ".join([command, *sys.argv[1:]])
    head = f"`{said}`: medians of at most {scale.rounds} interleaved rounds; {facts()}."
    text = [head, "", *lines(wanted, peers, results, scale)]
    print("\n".join(text))
    if arguments.write is not None:
        write(text, arguments.write)


def facts() -> str:
    """The machine, and its load."""
    load = os.getloadavg()[1]
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{os.cpu_count()} cores, {memory_gb:.0f} GB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, load average {load:.1f} over the last five minutes"
    )


def check_marks(path: Path) -> None:
    """Check before the work that the document can be written to."""
    text = path.read_text() if path.exists() else ""
    if MARK_BEGIN not in text or MARK_END not in text:
        raise SystemExit(f"{path} has no lines {MARK_BEGIN!r} and {MARK_END!r} to write between")


def write(text: list[str], path: Path) -> None:
    """Replace the text between the marks of a document."""
    check_marks(path)
    before, _, rest = path.read_text().partition(MARK_BEGIN)
    after = rest.partition(MARK_END)[2]
    path.write_text("\n".join([before + MARK_BEGIN, *text, MARK_END]) + after)
