"""Latency at a steady rate: ``python -m benchmarks.measures.latency [--scale small]``.

The time from sending a message to its arrival in another process (benchmarks/measures/pace.py
defines when the clock starts).  A variant that does not reach the rate has no latency, only a rate.
"""

from __future__ import annotations

from typing import Final

from benchmarks.harness.clients import client
from benchmarks.harness.command import alone
from benchmarks.harness.server import Server
from benchmarks.harness.subscriptions import subscriptions
from benchmarks.measures.measure import Case, Column, Figures, Measure, Scale
from benchmarks.measures.pace import Arrivals, consume_steadily, produce_steadily
from benchmarks.peers.peer import Variant

SIZE_BYTES: Final = 100
WARM_UP: Final = 0.2
"""The first part of a run, which is not counted: connections and caches warm up."""

REACHED: Final = 0.95
"""The share of the rate that must arrive to count as reached; otherwise a queue is growing."""

PATIENCE: Final = 4.0
"""The time limit of a run as a multiple of its nominal duration."""

START_S: Final = 20.0
"""Time for the start of a client's process on a busy machine."""

PERCENTILES: Final = {"p50 ms": 50.0, "p99 ms": 99.0, "p99.9 ms": 99.9}


def run(variant: Variant, server: Server, case: Case, scale: Scale) -> Figures:
    """One producer and one consumer."""
    rate, count = case.size, round(case.size * scale.seconds)
    patience_s = min(PATIENCE * scale.seconds + START_S, scale.give_up_s)
    with (
        subscriptions(variant, server, ["one"]),
        client(consume_steadily, variant, server, "one", count, SIZE_BYTES) as consumer,
    ):
        consumer.wait_ready(scale.give_up_s)
        with client(produce_steadily, variant, server, rate, count, SIZE_BYTES) as producer:
            arrivals: Arrivals = consumer.result(patience_s).value
            producer.result(patience_s)
    instants = arrivals.instants_ns
    # From the middle of the run on: a growing queue is visible by then.
    middle = count // 2
    reached = (count - middle) / max(instants[-1] - instants[middle], 1) * 1e9
    if reached < REACHED * rate:
        raise RuntimeError(f"reaches {reached:,.0f} messages/s")
    warm_ns = instants[round(WARM_UP * count)]
    return arrivals.between(warm_ns, instants[-1] + 1).percentiles_ms(PERCENTILES)


MEASURE: Final = Measure(
    "latency",
    "Latency at a steady rate",
    "Messages of 100 B, sent about every millisecond, from sending to arrival in another process, "
    "in ms. A message that was sent late counts from when it was due.",
    tuple(Column(name, "{:.2f}", better="less") for name in PERCENTILES),
    lambda scale: (Case("5,000/s", 5_000), Case("50,000/s", 50_000)),
    run,
    lambda variant: True,
    lambda scale: scale.rounds,
)

if __name__ == "__main__":
    alone(MEASURE)
