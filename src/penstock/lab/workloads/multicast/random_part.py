"""Random senders and members of groups, for random scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from penstock.core.clock import MILLISECOND
from penstock.lab.service import RandomPart
from penstock.lab.workloads.multicast.tables import GroupMember, GroupSender

GROUPS: Final = ("red", "green")

ATTRIBUTES: Final[dict[str, str | int | float | bool]] = {
    "topic": "choice:a,b,c",
    "n": "number:",
}

LAST_START_S: Final = 3.0
"""So that a client is there for half of the run."""


def random_part(random: Random, starts_s: Mapping[str, float]) -> RandomPart:
    """Groups on these brokers, whose senders and members come and go."""
    brokers = list(starts_s)
    senders = [_sender(random, number, brokers) for number in range(random.randint(1, 3))]
    members = [_member(random, number, brokers) for number in range(random.randint(1, 5))]
    return RandomPart(parameters={"multicast": _parameters(random)}, clients=(*members, *senders))


def _parameters(random: Random) -> dict[str, Any]:
    return {
        "law": random.choice(("paper", "improved")),
        "benefit": random.choice(("throughput", "concave")),
        "ride_wait_ns": random.choice((0, 10)) * MILLISECOND,
        "window_bytes": random.choice((4_000, 20_000, 8 << 20)),
    }


def _sender(random: Random, number: int, brokers: list[str]) -> GroupSender:
    rate = random.choice((0.0, 5.0, 15.0, 40.0))
    return GroupSender(
        service="multicast",
        role="sender",
        name=f"group-sender-{number}",
        broker=random.choice(brokers),
        groups=random.choice((*((each,) for each in GROUPS), GROUPS)),
        start_s=random.choice((0.0, random.uniform(0, LAST_START_S))),
        rate_msgs_per_s=rate,
        pattern=random.choice(("even", "poisson")),
        max_in_flight=random.choice((1, 10, 100)),
        messages=0 if rate else 100,
        payload_bytes=random.choice((16, 100, 1000)),
        attributes=ATTRIBUTES,
    )


def _member(random: Random, number: int, brokers: list[str]) -> GroupMember:
    start_s = random.choice((0.0, 0.0, random.uniform(0, LAST_START_S)))
    return GroupMember(
        service="multicast",
        role="member",
        name=f"group-member-{number}",
        broker=random.choice(brokers),
        group=random.choice(GROUPS),
        start_s=start_s,
        stop_s=random.choice((None, None, None, start_s + random.uniform(0.5, 3.0))),
        window_bytes=random.choice((1_000, 20_000, 4 << 20)),
        read_msgs_per_s=random.choice((0.0, 0.0, 20.0, 100.0)),
    )
