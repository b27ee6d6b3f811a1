"""What a service needs to know of the overlay: for each source, where up and down are."""

from __future__ import annotations

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
