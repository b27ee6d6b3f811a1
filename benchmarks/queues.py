"""Durable send-to-acknowledge throughput of a work queue, beside RabbitMQ's quorum queue.

    python -m benchmarks.queues [--messages N] [--rounds N]

A part of benchmarks.side_by_side, which says how it measures: 1 kB messages, every one on stable
storage before the producer is told, and every acknowledgement before it counts.  Our side is the
ordinary API, one call for each message; RabbitMQ is driven from pre-encoded frames, its best case.
"""

from __future__ import annotations

import argparse
from typing import Final

import msgspec

from benchmarks.peers.peer import Peer
from benchmarks.side_by_side import chosen, cpu_of, facts, rate_of, run

QUEUE: Final = "Penstock queue"
ALIAS: Final = "Penstock alias queue"
QUORUM: Final = "RabbitMQ quorum"
SIZE: Final = 1000


def _narrowed(peer: Peer) -> Peer:
    variants = tuple(each for each in peer.variants if each.name in (QUEUE, ALIAS, QUORUM))
    return msgspec.structs.replace(peer, variants=variants)


def main() -> None:
    """Measure, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    peers = [_narrowed(each) for each in chosen(["penstock", "rabbitmq"])]
    results = run(peers, arguments.messages, arguments.rounds, (SIZE,))
    print(facts())
    for ours, theirs in ((QUEUE, QUORUM), (ALIAS, QUEUE)):
        if (theirs, SIZE) in results:
            mine, other = results[ours, SIZE], results[theirs, SIZE]
            print(
                f"{ours} / {theirs}: {rate_of(mine) / rate_of(other):.2f} times the rate, "
                f"{cpu_of(mine) / cpu_of(other):.2f} of the processor time for a message"
            )


if __name__ == "__main__":
    main()
