"""A random workload of the datagram service."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

from penstock.lab.service import RandomPart
from penstock.lab.workloads.datagram.tables import DatagramPublisher, DatagramSubscriber

ATTRIBUTES: Final[dict[str, str | int | float | bool]] = {
    "topic": "choice:a,b,c",
    "n": "zipf:20,1",
    "price": "uniform:0..100",
}

SELECTORS: Final = ("", "topic = 'a'", "topic IN ('a', 'b') AND n < 3", "n = 1 OR price > 50.0")


def random_part(random: Random, starts_s: Mapping[str, float]) -> RandomPart:
    """One or two publishers and one to four subscribers; limits are often so small that messages
    wait, are refused, and reports are left out."""
    brokers = list(starts_s)
    parameters = {
        "law": random.choice(("paper", "improved", "improved", "none")),
        "detection": random.choice(("record", "flow")),
        "record_messages": random.choice((0, 2, 16)),
        "queue_messages": random.choice((1, 5, 50)),
        "max_flows": random.choice((1, 1024)),
    }
    publishers = [
        DatagramPublisher(
            service="datagram",
            role="publisher",
            name=f"datagram-publisher-{number}",
            broker=random.choice(brokers),
            rate_msgs_per_s=float(random.choice((5, 50, 300))),
            attributes=ATTRIBUTES,
            settle_s=random.choice((0.0, 0.5)),
        )
        for number in range(random.randint(1, 2))
    ]
    subscribers = [
        DatagramSubscriber(
            service="datagram",
            role="subscriber",
            name=f"datagram-subscriber-{number}",
            broker=random.choice(brokers),
            selector=random.choice(SELECTORS),
        )
        for number in range(random.randint(1, 4))
    ]
    return RandomPart({"datagram": parameters}, clients=(*subscribers, *publishers))
