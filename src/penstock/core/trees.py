"""What a service needs to know of the overlay: for each source, where up and down are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from penstock.core.machine import LinkName


class Tree(msgspec.Struct, frozen=True):
    """This broker's place in the shortest-path tree that is rooted at one broker.

    ``parent`` is None at the root itself.  ``incarnation`` is the root's: it changes when the root
    was started anew, which voids whatever had been agreed with it.
    """

    root: str
    parent: LinkName | None
    children: tuple[LinkName, ...]
    incarnation: int
    pubends: tuple[str, ...]


class Topology(Protocol):
    """The overlay as a broker knows it at present, for services whose every broker is a source."""

    def parents(self, root: str) -> Mapping[str, str]:
        """The parent of each broker that can be reached, in the tree rooted at ``root``."""
        ...

    def links(self) -> Mapping[str, Mapping[str, int]]:
        """The links of each broker on which both ends agree, with their cost."""
        ...

    def incarnation(self, broker: str) -> int:
        """The latest incarnation of a broker that was heard of; 0 if none was."""
        ...
