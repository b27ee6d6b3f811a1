"""A small random scenario for a seed: a topology, clients of some services, and many faults.

Every fault except damaged records is repaired before the end, so the services have no excuse: every
acknowledged message must arrive as promised, or its loss must be announced.  Each service draws its
own clients and parameters (``LabService.random_part``), often so small that rare paths are taken
frequently: a full window, an answer that stops at its limit, a cache that has evicted its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Final

import msgspec

from penstock.core.randomness import random_stream
from penstock.lab.scenario.model import (
    Broker,
    Client,
    Expectation,
    Fault,
    Keys,
    Link,
    Pause,
    PeerNetwork,
    Scenario,
)
from penstock.lab.service import RandomPart, lab_services, overlaid

DURATION_S: Final = 6.0
"""Long enough for several faults to overlap, short enough to run hundreds of them in a test."""

MENDED_BY_S: Final = 5.5
DRAIN_S: Final = 120.0
"""Requests are repeated every few seconds at the latest; what is missing after this is lost."""

FAULTS: Final = ("crash", "crash", "cut", "cut", "disk", "leave", "drop", "close")

PAUSED: Final = 0.3
"""The share of scenarios in which a broker is paused."""

SYNC_FAILURES: Final = 0.3
"""The share of scenarios in which one sync fails."""

DAMAGED_LOGS: Final = 0.3
"""The share of scenarios in which durable records become unreadable."""


EQUAL_PATHS: Final = 0.35
"""The share of scenarios in which all links cost the same, and there are more of them."""


def random_scenario(seed: int, services: Sequence[str] = ("guaranteed",)) -> Scenario:
    """The scenario of a seed with clients of these services; always the same one."""
    random = random_stream(seed, "scenario")
    brokers = _brokers(random)
    links = _with_equal_paths(seed, _links(random, [each.name for each in brokers]), brokers)
    parts = [_part(seed, service, brokers) for service in services]
    clients = tuple(client for part in parts for client in part.clients)
    brokers = tuple(
        msgspec.structs.replace(
            each, keys=_together(part.broker_keys.get(each.name, {}) for part in parts)
        )
        for each in brokers
    )
    faults = _faults(random, brokers, links, clients)
    faults += tuple(fault for part in parts for fault in part.faults)
    faults += _pauses(seed, brokers)
    return Scenario(
        name=f"random-{'-'.join(services)}-{seed}",
        description="A random topology, workload and fault plan.",
        duration_s=DURATION_S,
        drain_s=DRAIN_S,
        parameters=_together(part.parameters for part in parts),
        brokers=brokers,
        links=links,
        peer_network=PeerNetwork(loss=random.choice((0.0, 0.0, 0.05))),
        clients=clients,
        faults=tuple(sorted(faults, key=lambda fault: fault.at_s)) + _disk_faults(seed, brokers),
        expect=(Expectation(metric="violations", at_most=0),),
    )


def _part(seed: int, service: str, brokers: Sequence[Broker]) -> RandomPart:
    random = random_stream(seed, "scenario", service)
    starts_s = {each.name: each.start_s for each in brokers}
    return lab_services()[service].random_part(random, starts_s)


def _together(tables: Iterable[Keys]) -> Keys:
    whole: Keys = {}
    for table in tables:
        whole = overlaid(whole, table)
    return whole


def _brokers(random: Random) -> tuple[Broker, ...]:
    return tuple(
        Broker(
            name=f"b{number}",
            disk_sync_ms=random.choice((0.3, 1.0, 5.0)),
            start_s=random.choice((0.0, 0.0, 0.0, random.uniform(0.1, 3.0))),
        )
        for number in range(random.randint(2, 5))
    )


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


def _with_equal_paths(
    seed: int, links: tuple[Link, ...], brokers: Sequence[Broker]
) -> tuple[Link, ...]:
    """In some scenarios, two more links and one cost for all: several paths are the shortest."""
    random = random_stream(seed, "scenario", "equal paths")
    if random.random() >= EQUAL_PATHS:
        return links
    names, taken = [each.name for each in brokers], {each.between for each in links}
    free = [
        (first, second)
        for at, first in enumerate(names)
        for second in names[at + 1 :]
        if (first, second) not in taken
    ]
    more = tuple(_link(random, pair) for pair in random.sample(free, min(2, len(free))))
    return tuple(msgspec.structs.replace(each, cost=1) for each in (*links, *more))


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


def _faults(
    random: Random,
    brokers: Sequence[Broker],
    links: Sequence[Link],
    clients: Sequence[Client],
) -> tuple[Fault, ...]:
    faults: list[Fault] = []
    closable = [each for each in clients if each.can_close]
    connected = [each.name for each in clients if each.needs_broker]
    for _ in range(random.randint(0, 6)):
        at_s = random.uniform(0.2, MENDED_BY_S - 0.1)
        until_s = min(MENDED_BY_S, at_s + random.choice((0.05, 0.3, 1.0, 3.0)))
        broker = random.choice(brokers)
        if broker.start_s >= at_s:
            continue
        name = broker.name
        match random.choice(FAULTS):
            case "crash":
                faults += [Fault(at_s=at_s, crash=name), Fault(at_s=until_s, restart=name)]
            case "cut":
                pair = random.choice(links).between
                faults += [Fault(at_s=at_s, cut=pair), Fault(at_s=until_s, mend=pair)]
            case "disk":
                faults += [Fault(at_s=at_s, fill_disk=name), Fault(at_s=until_s, free_disk=name)]
            case "leave" if clients:
                client = random.choice(clients).name
                faults += [Fault(at_s=at_s, leave=client), Fault(at_s=until_s, come_back=client)]
            case "close" if closable:
                faults += _closing(random, random.choice(closable), at_s, until_s)
            case _ if connected:
                faults.append(Fault(at_s=at_s, drop_client=random.choice(connected)))
    return tuple(faults)


def _pauses(seed: int, brokers: Sequence[Broker]) -> tuple[Fault, ...]:
    """Brokers that get no processor for a while, once or in turns, as on a busy machine."""
    random = random_stream(seed, "scenario", "pauses")
    if random.random() >= PAUSED:
        return ()
    at_s = random.uniform(0.2, MENDED_BY_S - 0.1)
    every_s = random.choice((None, 0.2, 0.7))
    pause = Pause(
        broker=random.choice(brokers).name,
        for_s=random.choice((0.01, 0.15, 1.0) if every_s is None else (0.01, 0.15)),
        every_s=every_s,
        until_s=MENDED_BY_S,
    )
    return (Fault(at_s=at_s, pause=pause),)


def _closing(random: Random, reader: Client, at_s: float, until_s: float) -> list[Fault]:
    """Close a client, often right after its start, and open it again later."""
    soon_s = reader.start_s + random.choice((0.001, 0.01, 0.05, 0.3))
    at_s = min(random.choice((at_s, soon_s)), MENDED_BY_S)
    return [
        Fault(at_s=at_s, close=reader.name),
        Fault(at_s=max(at_s, until_s), reopen=reader.name),
        # A subscription whose close was in flight cannot be opened yet: open it again at the end.
        Fault(at_s=MENDED_BY_S, reopen=reader.name),
    ]


def _disk_faults(seed: int, brokers: Sequence[Broker]) -> tuple[Fault, ...]:
    """Disk faults, from a random stream of their own, so that all other draws stay the same."""
    random = random_stream(seed, "scenario", "disks")
    names = [each.name for each in brokers]
    faults: list[Fault] = []
    if random.random() < SYNC_FAILURES:
        # After a failed sync the content of the disk is unknown until the broker restarts.
        broker = random.choice(names)
        at_s = random.uniform(0.2, MENDED_BY_S - 1.0)
        crash_s = at_s + random.choice((0.01, 0.2))
        faults += [
            Fault(at_s=at_s, fail_sync=broker),
            Fault(at_s=crash_s, crash=broker),
            Fault(at_s=crash_s + random.choice((0.05, 0.5)), restart=broker),
        ]
    if random.random() < DAMAGED_LOGS:
        for _ in range(random.randint(1, 3)):
            at_s = random.uniform(0.5, DURATION_S)
            faults.append(Fault(at_s=at_s, damage_log=random.choice(names)))
    return tuple(faults)
