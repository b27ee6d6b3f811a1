"""Random cases of the queue service.

1. An alias queue, or two at different brokers, over two to five queues at other brokers; each queue
   has one to three consumers of random rates.  In some cases the rates are exchanged on the way.
2. One producer for each alias queue sends a fixed number of messages, at 0.6 to 1.3 times what all
   consumers can do together.
3. The optimum is the shortest time to consume everything: no consumer may be idle while messages
   wait, so it is the time of production, or of all the work by all the capacity, whichever is
   longer.
"""

from __future__ import annotations

from math import ceil
from random import Random
from typing import Any, Final

from penstock.lab.scenario.curve import CurvePoint
from penstock.lab.scenario.model import Scenario
from penstock.lab.workloads.queues.tables import QueueConsumer, QueueProducer
from penstock.papers.held_out.case import Case, CaseFlow, Phase
from penstock.papers.held_out.network import brokers_of, log_uniform, random_network

SERVICE: Final = "queues"
ALIAS, QUEUE = "orders", "work"
DESTINATIONS: Final = (2, 5)
CONSUMERS: Final = (1, 3)
CONSUMER_MSGS_PER_S: Final = (20.0, 500.0)
LOAD: Final = (0.6, 1.3)
PRODUCTION_S: Final = 60.0
START_S: Final = 5.0
"""Brokers find each other in the first seconds."""
BATCHES_PER_S: Final = 20.0
PAYLOAD_BYTES: Final = (100.0, 4000.0)
DRAIN_S: Final = 600.0
"""Far more than any law takes; the run ends when everything is consumed."""
EXCHANGED: Final = 0.4
"""The share of cases in which the rates change on the way."""


def draw(seed: int, random: Random) -> Case:
    """The case of a seed."""
    network = random_network(random)
    brokers = list(network.brokers)
    homes = random.sample(brokers, 1 if len(brokers) < 4 else random.randint(1, 2))
    free = [each for each in brokers if each not in homes]
    hosts = random.sample(free, min(len(free), random.randint(*DESTINATIONS)))
    keys: dict[str, dict[str, Any]] = {host: {"queues": {QUEUE: {}}} for host in hosts}
    for home in homes:
        keys[home] = {"aliases": {ALIAS: {"destinations": [f"{QUEUE}@{each}" for each in hosts]}}}
    rates = {
        f"consumer-{host}-{number}": round(log_uniform(random, *CONSUMER_MSGS_PER_S), 1)
        for host in hosts
        for number in range(random.randint(*CONSUMERS))
    }
    capacity = sum(rates.values())
    exchanged = random.random() < EXCHANGED
    produced = capacity * random.uniform(*LOAD)
    rows = ceil(produced / len(homes) / BATCHES_PER_S)
    messages = round(produced * PRODUCTION_S / len(homes) / rows) * rows
    payload = round(log_uniform(random, *PAYLOAD_BYTES))
    producers = [
        QueueProducer(
            service=SERVICE,
            role="producer",
            name=f"producer-{home}",
            broker=home,
            queue=ALIAS,
            start_s=START_S,
            rate_msgs_per_s=produced / len(homes),
            messages=messages,
            batch_rows=rows,
            jitter_ms=5.0,
            payload_bytes=payload,
        )
        for home in homes
    ]
    total = messages * len(homes)
    bound_s = max(total / capacity, total / produced)
    return Case(
        seed,
        SERVICE,
        Scenario(
            name=f"held-out-{seed}",
            description=f"Held-out case {seed} of the {SERVICE} service.",
            duration_s=START_S + ceil(bound_s) + 1,
            drain_s=DRAIN_S,
            brokers=brokers_of(network, keys),
            links=network.links,
            clients=(*_consumers(rates, exchanged=exchanged), *producers),
        ),
        (CaseFlow("all", SERVICE, {}, total / bound_s, 1.0),),
        (Phase(0.0, START_S + bound_s / 4, START_S + bound_s, {}),),
        bound_s=bound_s,
    )


def _consumers(rates: dict[str, float], *, exchanged: bool) -> list[QueueConsumer]:
    """In the middle of the production everybody takes the rate of the next one, if exchanged."""
    first, *others = rates.values()
    next_rates = dict(zip(rates, (*others, first), strict=True))
    middle_s = START_S + PRODUCTION_S / 2
    return [
        QueueConsumer(
            service=SERVICE,
            role="consumer",
            name=name,
            broker=name.split("-")[1],
            queue=QUEUE,
            rate_msgs_per_s=(CurvePoint(0.0, rate), CurvePoint(middle_s, next_rates[name]))
            if exchanged
            else rate,
        )
        for name, rate in rates.items()
    ]
