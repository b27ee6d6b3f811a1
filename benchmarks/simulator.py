"""Message-hops of the simulator per second of processor time.

A message-hop is one message over one link between brokers.  Three brokers in a row, one subscriber
of everything at the end, batches of 1, 16 and 256 rows.  Judging the history is not counted.

    python -m benchmarks.simulator
"""

from __future__ import annotations

import time

from penstock.lab.scenario.file import parse_scenario
from penstock.lab.worlds.sim import SimRun

BATCHES = ((1, 500), (16, 8_000), (256, 128_000))
"""Rows of a batch, and messages per second of each of four publishers."""

SIMULATED_S = 5


def hops_per_second(batch_rows: int, rate: float) -> float:
    """Message-hops per second of processor time."""
    scenario = parse_scenario(
        {
            "name": "hops",
            "duration_s": SIMULATED_S,
            "brokers": [{"name": "pb", "pubends": 4}, {"name": "ib"}, {"name": "sb"}],
            "links": [{"between": ["pb", "ib"]}, {"between": ["ib", "sb"]}],
            "clients": [
                {
                    "service": "guaranteed",
                    "role": "subscriber",
                    "name": "s",
                    "broker": "sb",
                    "window_bytes": 1 << 30,
                },
                {
                    "service": "guaranteed",
                    "role": "publisher",
                    "name": "p",
                    "count": 4,
                    "broker": "pb",
                    "pubend": "pb.{i+1}",
                    "rate_msgs_per_s": rate,
                    "batch_rows": batch_rows,
                    "identity": "tick",
                    "attributes": {"topic": "hops"},
                },
            ],
        }
    )
    world = SimRun(scenario, 1)
    world.open()
    for client in world.scenario.clients:
        world.start_client(client, SIMULATED_S)
    began = time.process_time()
    world.run_until(SIMULATED_S + 1)
    took = time.process_time() - began
    return 2 * world.histories["guaranteed"].delivered / took


def main() -> None:
    """Measure and print."""
    for rows, rate in BATCHES:
        print(f"batches of {rows:4} rows: {hops_per_second(rows, rate):12,.0f} message-hops/s")


if __name__ == "__main__":
    main()
