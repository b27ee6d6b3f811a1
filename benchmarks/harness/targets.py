"""Targets for the ratio of our figure to a peer's; missed targets come first.

A rate should be at least the given multiple of the peer's, a delay at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from benchmarks.harness.rounds import Results
from benchmarks.measures.measure import Measure, Scale
from benchmarks.peers import ourselves, ourselves_unkept
from benchmarks.peers.peer import Peer, Variant

RATE: Final = "messages/s"
P50: Final = "p50 ms"


class Target(msgspec.Struct, frozen=True):
    """Our variant, the peer's, and the wanted ratio of our figure to theirs."""

    measure: str
    ours: str
    theirs: str
    times: float
    column: str = RATE
    least: bool = True
    """Whether ``times`` is a minimum or a maximum."""


TARGETS: Final = (
    Target("throughput", ourselves.QUEUE, "RabbitMQ quorum", 5.0),
    Target("throughput", ourselves.PUBLISH, "RabbitMQ quorum", 10.0),
    Target("throughput", ourselves.PUBLISH, "Redis Streams, AOF always", 10.0),
    Target("throughput", ourselves.PUBLISH, "NATS JetStream, file", 3.0),
    Target("throughput", ourselves.BATCHES, "RabbitMQ stream", 1.0),
    Target("latency", ourselves_unkept.DATAGRAM, "NATS core", 2.0, P50, least=False),
    Target("latency", ourselves_unkept.GROUP, "NATS core", 2.0, P50, least=False),
)


def target_lines(
    measures: Sequence[Measure], peers: Sequence[Peer], results: Results, scale: Scale
) -> Iterator[str]:
    """The targets that can be evaluated, those that are furthest from being met first."""
    variants = {variant.name: variant for peer in peers for variant in peer.variants}
    found = [
        line
        for target in TARGETS
        for measure in measures
        if measure.name == target.measure
        for line in _judged(target, measure, variants, results, scale)
    ]
    if found:
        yield ""
        yield "### Targets"
        yield ""
        yield "| ours / theirs | case | times | target |"
        yield "| --- | --- | --- | --- |"
    for _, line in sorted(found):
        yield line


def _judged(
    target: Target, measure: Measure, variants: dict[str, Variant], results: Results, scale: Scale
) -> Iterator[tuple[float, str]]:
    if target.ours not in variants or target.theirs not in variants:
        return
    for case in measure.cases(scale):
        ours = results.medians(measure, variants[target.ours], case)
        theirs = results.medians(measure, variants[target.theirs], case)
        if ours and theirs:
            times = ours[target.column] / theirs[target.column]
            reached = times / target.times if target.least else target.times / times
            sign = "≥" if target.least else "≤"
            verdict = "" if reached >= 1 else " **missed**"
            what = "" if target.column == RATE else f", {target.column}"
            yield (
                reached,
                f"| {target.ours} / {target.theirs} | {case.name}{what} | {times:.1f} | "
                f"{sign} {target.times:g}{verdict} |",
            )
