"""All measures, side by side: ``make bench``, or ``python -m benchmarks [--scale small]``.

Measures Penstock and its alternatives, each started here on loopback, in interleaved rounds within
a bounded time.  Every measure is also a command of its own
(``python -m benchmarks.measures.latency``); ``python -m benchmarks.parts`` measures our parts.
"""

from __future__ import annotations

from typing import Final

from benchmarks.harness.command import run_command
from benchmarks.measures import fanout, latency, recovery, selectors, throughput

MEASURES: Final = (
    throughput.MEASURE,
    latency.MEASURE,
    fanout.MEASURE,
    selectors.MEASURE,
    recovery.MEASURE,
)

if __name__ == "__main__":
    run_command(MEASURES, "python -m benchmarks", "Penstock and its peers, side by side.")
