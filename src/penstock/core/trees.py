"""What a service needs to know about the overlay: its place in the trees of each source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from penstock.core.machine import LinkName


class Tree(msgspec.Struct, frozen=True):
    """This broker's place in a shortest-path tree that is rooted at one broker.

    ``parent`` is None at the root.  ``incarnation`` is that of the root: it changes when the root
    restarts, which voids everything that was agreed with it.  ``pubends`` are those whose data
    takes this tree; where equal paths exist, a root has several trees.
    """

    name: str
    root: str
    parent: LinkName | None
    children: tuple[LinkName, ...]
    incarnation: int
    pubends: tuple[str, ...]


class Topology(Protocol):
    """The overlay as a broker knows it, for services in which every broker is a source."""

    def parents(self, root: str) -> Mapping[str, str]:
        """The parent of each reachable broker in the tree rooted at ``root``."""
        ...

    def links(self) -> Mapping[str, Mapping[str, int]]:
        """The cost of each link of each broker, of the links that both ends report."""
        ...

    def incarnation(self, broker: str) -> int:
        """The latest known incarnation of a broker; 0 if none is known."""
        ...
