"""Trees: which brokers a message is for, and which links it takes.

A sender's broker cuts its own shortest-path tree down to the brokers with members.  A broker on the
path knows the same tree, because all brokers compute it from the same link states.  It passes the
message on to those of its children that lead to a destination: once over each link, whatever the
number of members.  While link states propagate, two brokers may see different trees.  A broker that
is not on the path sends by its own shortest path, and ``MAX_HOPS`` ends a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Final, TypeAlias

import msgspec
from xxhash import xxh3_64_intdigest

from penstock.core.machine import LinkName
from penstock.services.multicast.messages import Destination

MAX_HOPS: Final = 64
"""More than the diameter of any overlay that a broker's link-state database can hold."""

Parents: TypeAlias = Mapping[str, str]
ParentsOf: TypeAlias = Callable[[str], Parents]
"""The parent of every broker in the tree that is rooted at a broker."""


def link_number(broker: str, neighbour: str) -> int:
    """The name of one direction of a link, in eight bytes whatever the names are.

    It fits a signed 64-bit integer.
    """
    return xxh3_64_intdigest(f"{broker}\0{neighbour}".encode()) >> 1


class TreeLink(msgspec.Struct, frozen=True):
    """One direction of a link on a tree."""

    broker: str
    neighbour: str
    number: int


class GroupRoute(msgspec.Struct, frozen=True):
    """The brokers and links that the messages for a set of groups go to."""

    brokers: tuple[str, ...]
    links: tuple[TreeLink, ...]
    receivers: int = 1
    """The number of members that get a message."""


def route_to(root: str, brokers: Iterable[str], parents: Parents) -> GroupRoute:
    """The tree of ``root``, cut down to these brokers; one that cannot be reached has no link."""
    chosen = tuple(sorted(brokers))
    links: dict[tuple[str, str], TreeLink] = {}
    for broker in chosen:
        path = path_to(root, broker, parents)
        for ends in pairwise(path):
            if ends not in links:
                links[ends] = TreeLink(*ends, link_number(*ends))
    return GroupRoute(chosen, tuple(links.values()))


def path_to(root: str, broker: str, parents: Parents) -> tuple[str, ...]:
    """The brokers from the root to a broker, both included; empty if there is no path."""
    path = [broker]
    while path[-1] != root:
        above = parents.get(path[-1])
        if above is None:
            return ()
        path.append(above)
    return tuple(reversed(path))


def next_links(
    here: str,
    came_from: LinkName,
    origin: str,
    destinations: Iterable[Destination],
    parents_of: ParentsOf,
) -> dict[LinkName, list[Destination]]:
    """The links that a message takes from here, and its destinations behind each."""
    onward: dict[LinkName, list[Destination]] = {}
    tree = parents_of(origin)
    for destination in destinations:
        link = _child_towards(here, destination.broker, tree)
        if link is None:
            link = _child_towards(here, destination.broker, parents_of(here))
        if link is not None and link != came_from:
            onward.setdefault(link, []).append(destination)
    return onward


def _child_towards(here: str, broker: str, parents: Parents) -> LinkName | None:
    at = broker
    while (above := parents.get(at)) is not None:
        if above == here:
            return at
        at = above
    return None
