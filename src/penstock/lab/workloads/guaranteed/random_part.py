"""Random publishers and subscribers of the guaranteed service."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

import msgspec

from penstock.lab.scenario.model import Fault, Reconfiguration
from penstock.lab.service import RandomPart
from penstock.lab.workloads.guaranteed.tables import Publisher, Subscriber

LATEST_S: Final = 5.5
"""Nothing changes after this second of a random scenario."""

SELECTORS: Final = ("", "", "topic = 'a'", "topic IN ('a', 'b') AND n < 3", "n = 1 OR price > 50.0")

ATTRIBUTES: Final[dict[str, str | int | float | bool]] = {
    "topic": "choice:a,b,c",
    "n": "cycle:0..5",
    "price": "uniform:0..100",
}

MILLISECOND_NS: Final = 1_000_000


def random_part(random: Random, starts_s: Mapping[str, float]) -> RandomPart:
    """One or two hosts of pubends, some publishers there, subscribers anywhere."""
    brokers = list(starts_s)
    hosts = {name: random.randint(1, 2) for name in random.sample(brokers, random.randint(1, 2))}
    subscribers = tuple(
        _subscriber(random, number, brokers) for number in range(random.randint(1, 4))
    )
    publishers = _publishers(random, list(hosts))
    late, faults = _added_pubends(random, hosts, starts_s)
    return RandomPart(
        parameters={"guaranteed": _parameters(random)},
        broker_keys={name: {"pubends": count} for name, count in hosts.items()},
        clients=(*subscribers, *publishers, *late, *_restarted(random, publishers)),
        faults=faults,
    )


def _parameters(random: Random) -> dict[str, Any]:
    return {
        **_retention(random),
        "nack_timeout_min_ns": 100 * MILLISECOND_NS,
        "nack_timeout_max_ns": 2_000 * MILLISECOND_NS,
        "nack_timeout_initial_ns": 300 * MILLISECOND_NS,
        "nack_suppression_ns": random.choice((50, 500)) * MILLISECOND_NS,
        "silence_interval_ns": random.choice((100, 1_000)) * MILLISECOND_NS,
        "receive_window_ns": random.choice((500, 10_000)) * MILLISECOND_NS,
        "receive_window_bytes": random.choice((20_000, 64 << 20)),
        "relay_cache_bytes": random.choice((500, 5_000, 1 << 20)),
        "answer_bytes": random.choice((2_000, 5_000, 1 << 20)),
        "session_buffer_bytes": random.choice((300, 3_000, 16 << 20)),
        "acknowledge_interval_ns": random.choice((100, 1_000)) * MILLISECOND_NS,
        "producer_checkpoint_ns": random.choice((500, 10_000)) * MILLISECOND_NS,
        "congestion": {
            "law": random.choice(("paper", "improved")),
            "pdcc": random.random() < 0.5,
            "sdcc": random.random() < 0.5,
            # Slowing publishers down further would only make the run longer.
            "floor_msgs_per_s": 20.0,
        },
    }


def _retention(random: Random) -> dict[str, Any]:
    """Often nothing is retained for replay: then only claims keep what readers have yet to read."""
    if random.random() < 0.5:
        return {}
    return {
        "retain_for_ns": random.choice((100, 500, 2_000)) * MILLISECOND_NS,
        "retain_bytes": random.choice((1_000, 1 << 30)),
        "hold_expiry_ns": random.choice((500, 3_000)) * MILLISECOND_NS,
    }


def _publishers(random: Random, hosts: list[str]) -> tuple[Publisher, ...]:
    return tuple(
        Publisher(
            service="guaranteed",
            role="publisher",
            name=f"p{number}",
            broker=random.choice(hosts),
            rate_msgs_per_s=random.choice((5, 15, 40)),
            pattern=random.choice(("even", "poisson")),
            batch_rows=random.choice((1, 1, 4)),
            payload_bytes=random.choice((16, 100)),
            attributes=ATTRIBUTES,
        )
        for number in range(random.randint(1, 3))
    )


def _subscriber(random: Random, number: int, brokers: list[str]) -> Subscriber:
    start_s = random.choice((0.0, 0.0, random.uniform(0, 3)))
    return Subscriber(
        service="guaranteed",
        role="subscriber",
        name=f"s{number}",
        broker=random.choice(brokers),
        selector=random.choice(SELECTORS),
        durable=random.random() < 0.5,
        start=random.choice(("now", "now", "earliest")),
        start_s=start_s,
        stop_s=random.choice((None, None, None, start_s + random.uniform(0.5, 3))),
        window_bytes=random.choice((1_000, 4 << 20)),
        read_msgs_per_s=random.choice((0, 0, 10, 100)),
    )


def _added_pubends(
    random: Random, hosts: Mapping[str, int], starts_s: Mapping[str, float]
) -> tuple[tuple[Publisher, ...], tuple[Fault, ...]]:
    """Hosts that restart with one more pubend, and a publisher there."""
    late, faults = [], []
    for host, hosted in hosts.items():
        at_s = random.uniform(0.2, LATEST_S - 0.1)
        if random.random() < 0.7 or starts_s[host] >= at_s:
            continue
        changed = Reconfiguration(broker=host, keys={"pubends": hosted + 1})
        faults.append(Fault(at_s=at_s, reconfigure=changed))
        late.append(
            Publisher(
                service="guaranteed",
                role="publisher",
                name=f"{host}-new",
                broker=host,
                pubend=f"{host}.{hosted + 1}",
                start_s=min(at_s + random.uniform(0.0, 0.5), LATEST_S),
                rate_msgs_per_s=random.choice((15, 40)),
                attributes=ATTRIBUTES,
            )
        )
    return tuple(late), tuple(faults)


def _restarted(random: Random, publishers: tuple[Publisher, ...]) -> tuple[Publisher, ...]:
    """Publishers that take over the name of another one while it still runs."""
    return tuple(
        msgspec.structs.replace(
            each,
            name=f"{each.name}-again",
            producer=each.name,
            start_s=random.uniform(0.2, LATEST_S),
        )
        for each in publishers
        if random.random() < 0.25
    )
