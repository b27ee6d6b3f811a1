"""The flow-control runs of "Scalable Store and Forward Messaging", Section V.B, in the simulator.

The quantity is the time from the first message until the last one was consumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant, in_seconds
from penstock.core.randomness import random_stream
from penstock.core.trace import TraceRecord
from penstock.overlay.node import node_config
from penstock.papers.store_and_forward.scenario import Policy, QueueScenario, load
from penstock.papers.store_and_forward.workload import RatedConsumer, RatedProducer
from penstock.services.queues.parameters import QueueConfig
from penstock.sim.link import LinkModel
from penstock.sim.world import EPOCH, SimWorld

SITES: Final = ("east", "west")

RUN: Final = 100
"""Messages that a producer sends at once: 50 ms of production.  Smaller runs give the same result
and take longer to simulate."""

PREFETCH: Final = 200
JITTER_NS: Final[Duration] = 5 * MILLISECOND
"""Producers are late by up to this time: otherwise everything would stay synchronised."""

WARM_UP_NS: Final[Duration] = 3 * SECOND
"""Time for brokers to find each other before the first message; not counted."""


class QueueJob(msgspec.Struct, frozen=True):
    """One run to be made."""

    scenario: str
    policy: Policy
    seed: int


class QueueResult(msgspec.Struct, frozen=True):
    """What one run showed."""

    total_s: float
    finished: bool
    consumed: tuple[int, ...]
    highest_load: float
    loads: dict[str, list[tuple[float, float]]]
    """For each queue, its messages at every second."""


def run_job(job: QueueJob) -> QueueResult:
    """Execute one run; it can be in a separate process."""
    return simulate(load(job.scenario), job.policy, job.seed)


def simulate(
    scenario: QueueScenario,
    policy: Policy,
    seed: int,
    on_record: Callable[[TraceRecord], None] = lambda record: None,
    progress: Callable[[float], None] = lambda at_s: None,
    *,
    compressed: float = 1.0,
) -> QueueResult:
    """Run a scenario in virtual time; ``progress`` receives the current second.

    A compressed scenario needs a policy that is compressed by the same factor.
    """
    loads: dict[str, list[tuple[float, float]]] = {f"work-{site}": [] for site in SITES}
    start = EPOCH + WARM_UP_NS

    def on_trace(record: TraceRecord) -> None:
        on_record(record)
        if record.metric == "queue_messages" and record.subject in loads:
            loads[record.subject].append((in_seconds(record.at - start), record.value))

    world = SimWorld(seed, on_trace=on_trace)
    _build(world, scenario, policy, compressed)
    consumers = _consumers(world, scenario, start)
    _producers(world, scenario, start)
    world.start()
    limit = start + round(scenario.give_up_s * SECOND)
    while world.now < limit and sum(each.done for each in consumers) < scenario.messages:
        world.run_for(SECOND)
        progress(in_seconds(world.now - start))
    finished = sum(each.done for each in consumers) >= scenario.messages
    end = max(each.done_at for each in consumers) if finished else limit
    return QueueResult(
        in_seconds(end - start),
        finished,
        tuple(each.done for each in consumers),
        max(load for series in loads.values() for _, load in series),
        loads,
    )


def _build(world: SimWorld, scenario: QueueScenario, policy: Policy, compressed: float) -> None:
    homes = [f"home-{number}" for number in range(1, scenario.alias_queues + 1)]
    alias = policy.alias(tuple(f"work-{site}@{site}" for site in SITES), compressed)
    for home in homes:
        world.add_broker(node_config(home, dict.fromkeys(SITES, 1), aliases=(alias,)))
    for site in SITES:
        queue = QueueConfig(f"work-{site}")
        world.add_broker(node_config(site, dict.fromkeys(homes, 1), queues=(queue,)))
        for home in homes:
            world.add_link(home, site, LinkModel(latency_ns=MILLISECOND))


def _consumers(world: SimWorld, scenario: QueueScenario, start: Instant) -> list[RatedConsumer]:
    made = []
    for index, site in enumerate(SITES):
        rate = _rate(scenario, index, start)
        consumer = RatedConsumer(f"worker-{site}", f"work-{site}", rate, prefetch=PREFETCH)
        world.add_client(consumer.name, consumer, site)
        made.append(consumer)
    return made


def _rate(scenario: QueueScenario, index: int, start: Instant) -> Callable[[Instant], float]:
    return lambda now: scenario.rate_msgs_per_s(index, in_seconds(now - start))


def _producers(world: SimWorld, scenario: QueueScenario, start: Instant) -> None:
    whole = Batch.from_rows([({}, bytes(scenario.payload_bytes))] * RUN)

    def rows(first: int, count: int) -> Batch:
        return whole if count == RUN else whole.slice(0, count)

    for number in range(1, scenario.alias_queues + 1):
        name = f"producer-{number}"
        producer = RatedProducer(
            name,
            "orders",
            rows,
            random_stream(world.seed, name, "jitter"),
            rate_msgs_per_s=scenario.production_msgs_per_s / scenario.alias_queues,
            run=RUN,
            total=scenario.messages // scenario.alias_queues,
            start_at=start,
            jitter_ns=JITTER_NS,
        )
        world.add_client(name, producer, f"home-{number}")
