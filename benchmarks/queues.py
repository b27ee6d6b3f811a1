"""Durable send-to-acknowledge throughput of a work queue, beside RabbitMQ's quorum queue.

    python -m benchmarks.queues [--messages N] [--rounds N]

A part of benchmarks.measures.throughput, which documents the method: 1 kB messages, every one on
stable storage before its confirmation, and every acknowledgement too before it counts.  Our side is
the ordinary API, one call for each message; RabbitMQ is driven with pre-encoded frames, its best
case.
"""

from __future__ import annotations

import argparse
from typing import Final

import msgspec

from benchmarks.harness.command import facts
from benchmarks.harness.rounds import run_all
from benchmarks.measures.measure import SCALES, Case, Figures
from benchmarks.measures.throughput import MEASURE, PROCESSOR, RATE
from benchmarks.peers.ourselves import ALIAS, QUEUE
from benchmarks.peers.peer import Peer, Variant
from benchmarks.peers.registry import chosen

QUORUM: Final = "RabbitMQ quorum"
SIZE: Final = Case("1 kB", 1000)
LIMIT_S: Final = 600.0


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
    scale = msgspec.structs.replace(
        SCALES["full"], messages=arguments.messages, rounds=arguments.rounds
    )
    measure = msgspec.structs.replace(MEASURE, cases=lambda scale: (SIZE,))
    results = run_all([measure], peers, scale, LIMIT_S)
    print(facts())
    variants = {each.name: each for peer in peers for each in peer.variants}

    def medians(variant: Variant) -> Figures | None:
        return results.medians(measure, variant, SIZE)

    for ours, theirs in ((QUEUE, QUORUM), (ALIAS, QUEUE)):
        mine = medians(variants[ours])
        other = medians(variants[theirs]) if theirs in variants else None
        if mine and other:
            print(
                f"{ours} / {theirs}: {mine[RATE.name] / other[RATE.name]:.2f} times the rate, "
                f"{mine[PROCESSOR.name] / other[PROCESSOR.name]:.2f} of the processor time for a "
                "message"
            )


if __name__ == "__main__":
    main()
