"""The case of a seed.

Of ten seeds in a row three are cases of the guaranteed service, two of multicast and of datagram
each, and one of gossip, of queues and of a mixture each.  A restriction to one kind takes the next
seeds of that kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count, islice
from random import Random
from typing import Final

from penstock.core.randomness import random_stream
from penstock.papers.held_out import datagram, gossip, guaranteed, mixtures, multicast, queues
from penstock.papers.held_out.case import Case

DRAWS: Final[Mapping[str, Callable[[int, Random], Case]]] = {
    "guaranteed": guaranteed.draw,
    "multicast": multicast.draw,
    "datagram": datagram.draw,
    "gossip": gossip.draw,
    "queues": queues.draw,
    "mixture": mixtures.draw,
}

ORDER: Final = (
    "guaranteed",
    "multicast",
    "datagram",
    "guaranteed",
    "gossip",
    "guaranteed",
    "multicast",
    "datagram",
    "queues",
    "mixture",
)


def kind_of(seed: int) -> str:
    """The kind of a seed's case."""
    return ORDER[seed % len(ORDER)]


def case_of(seed: int) -> Case:
    """The case of a seed; always the same one."""
    kind = kind_of(seed)
    return DRAWS[kind](seed, random_stream(seed, "held-out", kind))


def seeds_from(first: int, cases: int, kind: str = "") -> list[int]:
    """The first seeds from a number on, of one kind or of all."""
    chosen = (seed for seed in count(first) if not kind or kind_of(seed) == kind)
    return list(islice(chosen, cases))
