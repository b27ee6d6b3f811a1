"""Many selectors: ``python -m benchmarks.measures.selectors [--scale small]``.

As many subscribers as there are selectors, over one connection; every message matches exactly one
of them, in turn.  A selector tests two attributes.
"""

from __future__ import annotations

from typing import Final

from benchmarks.harness.command import alone
from benchmarks.harness.server import Server
from benchmarks.measures import throughput
from benchmarks.measures.measure import Case, Figures, Measure, Scale
from benchmarks.peers.peer import Variant

SIZE_BYTES: Final = 100


def run(variant: Variant, server: Server, case: Case, scale: Scale) -> Figures:
    """One producer, and one process that consumes for all selectors."""
    return throughput.run(
        variant.with_selectors(case.size), server, Case(case.name, SIZE_BYTES), scale
    )


MEASURE: Final = Measure(
    "selectors",
    "Selectors",
    "As many subscribers as selectors, over one connection; every message of 100 B matches "
    "exactly one. Penstock and the JMS brokers: a durable subscription with a selector on two "
    "attributes; RabbitMQ: a headers exchange with a classic queue for each.",
    (throughput.RATE, throughput.PROCESSOR),
    lambda scale: (Case("1 selector", 1), Case(f"{scale.selectors:,} selectors", scale.selectors)),
    run,
    lambda variant: variant.selecting is not None,
    lambda scale: scale.rounds,
)

if __name__ == "__main__":
    alone(MEASURE)
