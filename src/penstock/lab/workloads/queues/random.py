"""A random workload of queues: some queues, an alias queue, producers to each, consumers of all."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from penstock.lab.service import RandomPart
from penstock.lab.workloads.queues.tables import QueueConsumer, QueueProducer

ALIAS: Final = "orders"
QUEUE: Final = "work"
MOST_QUEUES: Final = 3
MOST_DELIVERIES: Final = 1000
"""Consumers of a random run lose their connections often; no message shall be a dead letter."""


def random_part(random: Random, brokers: Sequence[str]) -> RandomPart:
    """Queues on some brokers, all of them with consumers that work faster than producers send."""
    hosts = random.sample(list(brokers), random.randint(1, min(MOST_QUEUES, len(brokers))))
    home = random.choice(list(brokers))
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
    return RandomPart(broker_keys=keys, clients=tuple(clients))


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
        rate_msgs_per_s=float(random.choice((20, 50, 100))),
        batch_rows=random.choice((1, 5, 20)),
        jitter_ms=float(random.choice((0, 5, 50))),
        payload_bytes=random.choice((16, 200, 2000)),
        attributes={"kind": "cycle:0..4"},
    )


def _consumer(random: Random, name: str, broker: str) -> QueueConsumer:
    return QueueConsumer(
        service="queues",
        role="consumer",
        name=name,
        broker=broker,
        queue=QUEUE,
        rate_msgs_per_s=float(random.choice((0, 500, 1000))),
        prefetch=random.choice((1, 10, 200)),
    )
