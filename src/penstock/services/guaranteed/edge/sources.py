"""What an edge knows of one source, and what it has asked of it.

A source is the broker at the root of one tree, with its pubends.  The edge registers the selectors
of its connected subscribers with every source, through the relay of its own broker, and learns by
the confirmation from which tick on the live stream is complete for them.
"""

from __future__ import annotations

from collections import Counter

from penstock.core.intervals import Tick
from penstock.core.trees import Tree
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.messages import SubscriptionConfirmed, SubscriptionUpdate


class SourceView:
    """One source as the edge sees it."""

    def __init__(self, tree: Tree, wanted: Counter[str]) -> None:
        """``wanted`` is shared with the edge: each selector and how many subscribers have it."""
        self.root = tree.root
        self.incarnation = tree.incarnation
        self.pubends = tree.pubends
        self.version = 0
        self.confirmed_version = 0
        self.restarted_version: int | None = None
        """What must be confirmed before the ends of the streams of a new start are known."""
        self.ticks: dict[str, Tick] = {}
        self.earliest: dict[str, Tick] = {}
        self.beginnings: dict[str, Tick] = {}
        self.streams: dict[str, EdgeStream] = {}
        self._wanted = wanted

    @property
    def has_restarted(self) -> bool:
        """Whether the source was started anew and has just confirmed what it was told since."""
        return self.restarted_version is not None and (
            self.confirmed_version >= self.restarted_version
        )

    @property
    def standing(self) -> dict[str, Tick]:
        """How far the live streams have come; nothing while nobody is connected."""
        return {pubend: self.streams[pubend].horizon for pubend in sorted(self.ticks)}

    def register_all(self) -> SubscriptionUpdate:
        """Everything that is wanted, for a source that knows nothing of it."""
        self.version += 1
        return SubscriptionUpdate(self.root, self.version, True, tuple(sorted(self._wanted)))

    def register(self, added: str) -> SubscriptionUpdate:
        """One more selector."""
        self.version += 1
        return SubscriptionUpdate(self.root, self.version, False, (added,))

    def unregister(self, removed: str) -> SubscriptionUpdate:
        """One selector less."""
        self.version += 1
        return SubscriptionUpdate(self.root, self.version, False, (), (removed,))

    def confirm(self, message: SubscriptionConfirmed) -> None:
        """The source's word on a version."""
        self.confirmed_version = max(self.confirmed_version, message.version)
        self.ticks.update(message.ticks)
        self.earliest.update(message.earliest)
        self.beginnings.update(message.beginnings)
