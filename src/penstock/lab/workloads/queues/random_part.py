"""A random workload of queues: some queues, an alias queue, producers to each, consumers of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from penstock.core.clock import MILLISECOND
from penstock.lab.service import RandomPart
from penstock.lab.workloads.queues.tables import QueueConsumer, QueueProducer

ALIAS: Final = "orders"
QUEUE: Final = "work"
MOST_QUEUES: Final = 3
MOST_DELIVERIES: Final = 1000
"""Consumers of a random run lose their connections often; no message shall be a dead letter."""


def random_part(random: Random, starts_s: Mapping[str, float]) -> RandomPart:
    """Queues on some brokers, all of them with consumers that work faster than producers send."""
    brokers = list(starts_s)
    hosts = random.sample(brokers, random.randint(1, min(MOST_QUEUES, len(brokers))))
    home = random.choice(brokers)
    keys: dict[str, dict[str, Any]] = {
        each: {"queues": {QUEUE: {"max_deliveries": MOST_DELIVERIES}}} for each in hosts
    }
    keys.setdefault(home, {})["aliases"] = {ALIAS: _alias(random, hosts)}
    clients: list[QueueProducer | QueueConsumer] = [
        _producer(random, "queue-producer-alias", home, ALIAS),
        _producer(random, "queue-producer-direct", hosts[0], QUEUE),
    ]
    if random.random() < 0.5:
        clients.append(_producer(random, "queue-producer-far", home, f"{QUEUE}@{hosts[-1]}"))
    for host in hosts:
        for number in range(random.randint(1, 2)):
            name = f"queue-consumer-{host}-{number}"
            clients.append(_consumer(random, name, host))
    return RandomPart(
        parameters={"queue_parameters": _parameters(random)},
        broker_keys=keys,
        clients=tuple(clients),
    )


def _parameters(random: Random) -> dict[str, Any]:
    """Often so small that rows are read back, refused, forwarded again or stored after all."""
    return {
        "memory_bytes": random.choice((2_000, 64 << 20)),
        "read_bytes": random.choice((1_000, 1 << 20)),
        "submit_limit_bytes": random.choice((10_000, 32 << 20)),
        "forward_window_bytes": random.choice((5_000, 4 << 20)),
        "unstored_limit_ns": random.choice((50, 1_000)) * MILLISECOND,
        "pass_again_ns": random.choice((200, 5_000)) * MILLISECOND,
        "forward_timeout_ns": random.choice((500, 5_000)) * MILLISECOND,
        "refused_pause_ns": random.choice((200, 2_000)) * MILLISECOND,
        "repeat_ns": random.choice((200, 1_000)) * MILLISECOND,
        "checkpoint_ns": random.choice((100, 1_000)) * MILLISECOND,
    }


def _alias(random: Random, hosts: Sequence[str]) -> dict[str, Any]:
    alias: dict[str, Any] = {
        "destinations": [f"{QUEUE}@{each}" for each in hosts],
        "balancing": random.choice(("flow-control", "round-robin", "weighted")),
        "law": random.choice(("paper", "improved")),
    }
    if random.random() < 0.3:
        alias["pass_through_ns"] = 0
    return alias


def _producer(random: Random, name: str, broker: str, queue: str) -> QueueProducer:
    return QueueProducer(
        service="queues",
        role="producer",
        name=name,
        broker=broker,
        queue=queue,
        rate_msgs_per_s=float(random.choice((5, 15, 40))),
        batch_rows=random.choice((1, 1, 5)),
        jitter_ms=float(random.choice((0, 5, 50))),
        payload_bytes=random.choice((16, 100, 500)),
        attributes={"kind": "cycle:0..4"},
    )


def _consumer(random: Random, name: str, broker: str) -> QueueConsumer:
    return QueueConsumer(
        service="queues",
        role="consumer",
        name=name,
        broker=broker,
        queue=QUEUE,
        rate_msgs_per_s=float(random.choice((0, 200, 1000))),
        prefetch=random.choice((1, 10, 200)),
    )
