"""A small random scenario for a seed: a topology, a workload and many faults.

Every fault except damaged records is repaired before the end, so the service has no excuse: every
acknowledged message must arrive, once and in order, or its loss must be announced.  Parameters are
often drawn so small that rare paths (a full window, an answer that stops at its limit, a cache that
has evicted its rows) are taken frequently.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

import msgspec

from penstock.core.randomness import random_stream
from penstock.lab.scenario.model import (
    Broker,
    Expectation,
    Fault,
    Link,
    Parameters,
    Publishers,
    Scenario,
    Subscribers,
)

DURATION_S: Final = 6.0
"""Long enough for several faults to overlap, short enough to run hundreds of them in a test."""

MENDED_BY_S: Final = 5.5
DRAIN_S: Final = 120.0
"""Requests are repeated every few seconds at the latest; what is missing after this is lost."""

SELECTORS: Final = ("", "", "topic = 'a'", "topic IN ('a', 'b') AND n < 3", "n = 1 OR price > 50.0")

ATTRIBUTES: Final[dict[str, str | int | float | bool]] = {
    "topic": "choice:a,b,c",
    "n": "cycle:0..5",
    "price": "uniform:0..100",
}

FAULTS: Final = ("crash", "crash", "cut", "cut", "disk", "leave", "drop", "close", "pubend")

SYNC_FAILURES: Final = 0.3
"""The share of scenarios in which one sync fails."""

DAMAGED_LOGS: Final = 0.3
"""The share of scenarios in which durable records become unreadable."""

MILLISECOND_NS: Final = 1_000_000


def random_scenario(seed: int) -> Scenario:
    """The scenario of a seed; always the same one."""
    random = random_stream(seed, "scenario")
    brokers = _brokers(random)
    links = _links(random, list(brokers))
    publishers = _publishers(random, brokers)
    subscribers = _subscribers(random, list(brokers))
    faults = _faults(random, brokers, links, publishers, subscribers)
    publishers += _later_publishers(random, brokers, publishers, faults)
    return Scenario(
        name=f"random-{seed}",
        description="A random topology, workload and fault plan.",
        duration_s=DURATION_S,
        drain_s=DRAIN_S,
        parameters=Parameters(guaranteed=_parameters(random)),
        brokers=brokers,
        links=links,
        publishers=publishers,
        subscribers=subscribers,
        faults=faults + _disk_faults(seed, brokers),
        expect=(Expectation(metric="violations", at_most=0),),
    )


def _brokers(random: Random) -> dict[str, Broker]:
    names = [f"b{number}" for number in range(random.randint(2, 5))]
    hosts = set(random.sample(names, random.randint(1, 2)))
    return {
        name: Broker(
            pubends=random.randint(1, 2) if name in hosts else 0,
            disk_sync_ms=random.choice((0.3, 1.0, 5.0)),
            start_s=random.choice((0.0, 0.0, 0.0, random.uniform(0.1, 3.0))),
        )
        for name in names
    }


def _links(random: Random, names: list[str]) -> tuple[Link, ...]:
    """A random tree, often with one more link, which makes a cycle."""
    pairs = [(names[random.randrange(at)], names[at]) for at in range(1, len(names))]
    others = [
        (first, second)
        for at, first in enumerate(names)
        for second in names[at + 1 :]
        if (first, second) not in pairs
    ]
    if others and random.random() < 0.6:
        pairs.append(random.choice(others))
    return tuple(_link(random, pair) for pair in pairs)


def _link(random: Random, pair: tuple[str, str]) -> Link:
    return Link(
        between=pair,
        bandwidth_bytes_per_s=random.choice((0, 0, 0, 60_000, 200_000)),
        latency_ms=random.choice((0.1, 1.0, 10.0, 40.0)),
        jitter_ms=random.choice((0.0, 0.0, 5.0)),
        queue_bytes=random.choice((5_000_000, 5_000_000, 20_000)),
        loss=random.choice((0.0, 0.0, 0.02, 0.1)),
        cost=random.randint(1, 3),
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


def _publishers(random: Random, brokers: dict[str, Broker]) -> tuple[Publishers, ...]:
    hosts = [name for name, broker in brokers.items() if broker.pubends]
    return tuple(
        Publishers(
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


def _subscribers(random: Random, brokers: list[str]) -> tuple[Subscribers, ...]:
    return tuple(_subscriber(random, number, brokers) for number in range(random.randint(1, 4)))


def _subscriber(random: Random, number: int, brokers: list[str]) -> Subscribers:
    start_s = random.choice((0.0, 0.0, random.uniform(0, 3)))
    return Subscribers(
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


def _later_publishers(
    random: Random,
    brokers: dict[str, Broker],
    publishers: tuple[Publishers, ...],
    faults: tuple[Fault, ...],
) -> tuple[Publishers, ...]:
    """Publishers to pubends that appear later, and some that take over another's name."""
    later = []
    added = dict.fromkeys(fault.add_pubend for fault in faults if fault.add_pubend is not None)
    for broker in added:
        first = next(fault.at_s for fault in faults if fault.add_pubend == broker)
        hosted = brokers[broker].pubends
        assert isinstance(hosted, int)
        later.append(
            Publishers(
                name=f"{broker}-new",
                broker=broker,
                pubend=f"{broker}.{hosted + 1}",
                start_s=min(first + random.uniform(0.0, 0.5), MENDED_BY_S),
                rate_msgs_per_s=random.choice((15, 40)),
                attributes=ATTRIBUTES,
            )
        )
    for publisher in publishers:
        if random.random() < 0.25:
            changes: dict[str, Any] = {
                "name": f"{publisher.name}-again",
                "producer": publisher.name,
                "start_s": random.uniform(0.2, MENDED_BY_S),
            }
            later.append(msgspec.structs.replace(publisher, **changes))
    return tuple(later)


def _faults(
    random: Random,
    brokers: dict[str, Broker],
    links: tuple[Link, ...],
    publishers: tuple[Publishers, ...],
    subscribers: tuple[Subscribers, ...],
) -> tuple[Fault, ...]:
    faults: list[Fault] = []
    clients = [*(each.name for each in publishers), *(each.name for each in subscribers)]
    durable = [each for each in subscribers if each.durable]
    hosts = [name for name, broker in brokers.items() if broker.pubends]
    for _ in range(random.randint(0, 6)):
        at_s = random.uniform(0.2, MENDED_BY_S - 0.1)
        until_s = min(MENDED_BY_S, at_s + random.choice((0.05, 0.3, 1.0, 3.0)))
        broker = random.choice(list(brokers))
        if brokers[broker].start_s >= at_s:
            continue
        match random.choice(FAULTS):
            case "crash":
                faults += [Fault(at_s=at_s, crash=broker), Fault(at_s=until_s, restart=broker)]
            case "cut":
                pair = random.choice(links).between
                faults += [Fault(at_s=at_s, cut=pair), Fault(at_s=until_s, mend=pair)]
            case "disk":
                faults += [Fault(at_s=at_s, fill_disk=broker)]
                faults += [Fault(at_s=until_s, free_disk=broker)]
            case "leave":
                client = random.choice(clients)
                faults += [Fault(at_s=at_s, leave=client), Fault(at_s=until_s, come_back=client)]
            case "close" if durable:
                faults += _closing(random, random.choice(durable), at_s, until_s)
            case "pubend":
                host = random.choice(hosts)
                if brokers[host].start_s < at_s:
                    faults.append(Fault(at_s=at_s, add_pubend=host))
            case _:
                faults.append(Fault(at_s=at_s, drop_client=random.choice(clients)))
    return tuple(sorted(faults, key=lambda fault: fault.at_s))


def _closing(random: Random, reader: Subscribers, at_s: float, until_s: float) -> list[Fault]:
    """Close a durable subscription, often right after its creation, and open it again later."""
    soon_s = reader.start_s + random.choice((0.001, 0.01, 0.05, 0.3))
    at_s = min(random.choice((at_s, soon_s)), MENDED_BY_S)
    return [
        Fault(at_s=at_s, close=reader.name),
        Fault(at_s=max(at_s, until_s), reopen=reader.name),
        # A subscription whose close was in flight cannot be opened yet: open it again at the end.
        Fault(at_s=MENDED_BY_S, reopen=reader.name),
    ]


def _disk_faults(seed: int, brokers: dict[str, Broker]) -> tuple[Fault, ...]:
    """Disk faults, from a random stream of their own, so that all other draws stay the same."""
    random = random_stream(seed, "scenario", "disks")
    faults: list[Fault] = []
    if random.random() < SYNC_FAILURES:
        # After a failed sync the content of the disk is unknown until the broker restarts.
        broker = random.choice(list(brokers))
        at_s = random.uniform(0.2, MENDED_BY_S - 1.0)
        crash_s = at_s + random.choice((0.01, 0.2))
        faults += [
            Fault(at_s=at_s, fail_sync=broker),
            Fault(at_s=crash_s, crash=broker),
            Fault(at_s=crash_s + random.choice((0.05, 0.5)), restart=broker),
        ]
    if random.random() < DAMAGED_LOGS:
        hosts = [name for name, broker in brokers.items() if broker.pubends]
        for _ in range(random.randint(1, 3)):
            at_s = random.uniform(0.5, DURATION_S)
            faults.append(Fault(at_s=at_s, damage_log=random.choice(hosts)))
    return tuple(faults)
