"""The sources that an edge knows, and what it has registered with each.

A source is a broker with its pubends, and the root of one tree or several.  The edge registers the
selectors of its connected subscribers in every tree of every source, through the relays of its own
broker, and learns from the confirmation from which tick on the live stream is complete for them.  A
version is confirmed when it is confirmed in all trees of the source.

A source that cannot be reached is not forgotten: its streams go on where they stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from penstock.core.intervals import Tick
from penstock.core.machine import Effect, Priority, Send
from penstock.core.trees import Tree
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.edge.subscription import Subscription
from penstock.services.guaranteed.links import LOCAL_RELAY
from penstock.services.guaranteed.messages import (
    StreamBounds,
    SubscriptionConfirmed,
    SubscriptionUpdate,
)


class SourceView:
    """One source as the edge sees it."""

    def __init__(self, root: str, wanted: Counter[str]) -> None:
        """``wanted`` is shared by all sources: each selector and how many subscribers have it."""
        self.root = root
        self.incarnation = 0
        self.pubends: tuple[str, ...] = ()
        self.version = 0
        self.restarted_version: int | None = None
        """The version to be confirmed before the ends of a restarted source's streams are known."""
        self.ticks: dict[str, Tick] = {}
        self.earliest: dict[str, Tick] = {}
        self.beginnings: dict[str, Tick] = {}
        self.streams: dict[str, EdgeStream] = {}
        self._confirmed: dict[str, int] = {}
        """The latest version that was confirmed in each tree."""
        self._wanted = wanted

    def takes(self, trees: list[Tree]) -> bool:
        """Take the trees of the source; True if it is new, was restarted or has other trees."""
        names, incarnation = [tree.name for tree in trees], trees[0].incarnation
        if self.incarnation == incarnation and names == list(self._confirmed):
            return False
        self.incarnation = incarnation
        self.pubends = tuple(pubend for tree in trees for pubend in tree.pubends)
        self._confirmed = {name: self._confirmed.get(name, 0) for name in names}
        return True

    @property
    def confirmed_version(self) -> int:
        """The latest version that is confirmed in all trees."""
        return min(self._confirmed.values(), default=0)

    @property
    def is_confirmed(self) -> bool:
        """Whether the source has confirmed everything that was registered."""
        return self.confirmed_version >= self.version

    @property
    def has_restarted(self) -> bool:
        """Whether the source was restarted and has just confirmed what it was told since."""
        return self.restarted_version is not None and (
            self.confirmed_version >= self.restarted_version
        )

    @property
    def standing(self) -> dict[str, Tick]:
        """The horizons of the live streams; empty while no subscriber is connected."""
        return {pubend: self.streams[pubend].horizon for pubend in sorted(self.ticks)}

    def register_all(self) -> list[Send]:
        """Register every selector, with a source that knows none of them."""
        return self._tell(full=True, added=tuple(sorted(self._wanted)))

    def register(self, added: str) -> list[Send]:
        """Register one more selector; every selector, if the source knows none."""
        return self._tell(added=(added,)) if self.version else self.register_all()

    def unregister(self, removed: str) -> list[Send]:
        """Register one selector less."""
        return self._tell(removed=(removed,))

    def _tell(
        self, *, full: bool = False, added: tuple[str, ...] = (), removed: tuple[str, ...] = ()
    ) -> list[Send]:
        self.version += 1
        return [
            to_relay(SubscriptionUpdate(tree, self.version, full, added, removed))
            for tree in self._confirmed
        ]

    def confirm(self, message: SubscriptionConfirmed) -> None:
        """The source has confirmed a version in one tree."""
        self._confirmed[message.tree] = max(self._confirmed[message.tree], message.version)
        self.ticks.update(message.ticks)
        self.earliest.update(message.earliest)
        self.beginnings.update(message.beginnings)


class EdgeSources:
    """All sources of one edge."""

    def __init__(self) -> None:
        self._by_root: dict[str, SourceView] = {}
        self._by_tree: dict[str, SourceView] = {}
        self.of_pubend: dict[str, SourceView] = {}
        """The source of each pubend that has a live stream here."""
        self._wanted: Counter[str] = Counter()

    def __iter__(self) -> Iterator[SourceView]:
        return iter(self._by_root.values())

    def get(self, root: str) -> SourceView | None:
        return self._by_root.get(root)

    def of_tree(self, tree: str) -> SourceView | None:
        """The source that has a tree of this name."""
        return self._by_tree.get(tree)

    def trees_changed(self, trees: Mapping[str, Tree], out: list[Effect]) -> list[SourceView]:
        """Register with sources that are new, were restarted or have other trees; returns those."""
        started = []
        by_root: dict[str, list[Tree]] = {}
        for _, tree in sorted(trees.items()):
            by_root.setdefault(tree.root, []).append(tree)
        for root, own in by_root.items():
            view = self._by_root.get(root)
            if view is None:
                view = self._by_root[root] = SourceView(root, self._wanted)
            if not view.takes(own):
                continue
            self._by_tree = {name: each for name, each in self._by_tree.items() if each != view}
            self._by_tree |= dict.fromkeys((tree.name for tree in own), view)
            if self._wanted:
                out += view.register_all()
                view.restarted_version = view.version
            started.append(view)
        return started

    @property
    def is_idle(self) -> bool:
        """Whether no subscriber is connected."""
        return not self._wanted

    def want(self, selector: str) -> bool:
        """One more subscriber has this selector; True if it must be registered."""
        self._wanted[selector] += 1
        return self._wanted[selector] == 1

    def unwant(self, selector: str, out: list[Effect]) -> None:
        """One subscriber less has this selector; the last one unregisters it."""
        self._wanted[selector] -= 1
        if not self._wanted[selector]:
            del self._wanted[selector]
            for view in self:
                out += view.unregister(selector)

    def opened(self, pubend: str, view: SourceView) -> None:
        """A source has confirmed a pubend, which has a live stream from now on."""
        self.of_pubend[pubend] = view

    def forget_streams(self) -> None:
        """End all live streams."""
        for view in self:
            view.streams.clear()
            view.ticks.clear()
        self.of_pubend.clear()

    def live(self, pubend: str) -> EdgeStream:
        """The live stream of a pubend."""
        return self.of_pubend[pubend].streams[pubend]

    def log_begins(self, pubend: str, earliest: Tick) -> None:
        """The log of a pubend begins at this tick, or later."""
        view = self.of_pubend.get(pubend)
        if view is not None:
            view.earliest[pubend] = max(earliest, view.earliest.get(pubend, earliest))

    def horizons(self) -> dict[str, Tick]:
        """The doubt horizon of each live stream."""
        return {pubend: stream.horizon for view in self for pubend, stream in view.streams.items()}

    def horizons_of(self, subscription: Subscription) -> dict[str, Tick]:
        """The doubt horizons of the live streams that a subscriber reads."""
        return {pubend: self.live(pubend).horizon for pubend in subscription.live}

    def bounds(self) -> dict[str, StreamBounds]:
        """What can be read of each stream, as far as this edge knows."""
        return {
            pubend: StreamBounds(
                view.root, min(view.earliest.get(pubend, 0), stream.horizon), *2 * (stream.horizon,)
            )
            for view in self
            for pubend, stream in view.streams.items()
        }


def to_relay(message: object) -> Send:
    """Send a message to the relays of this broker."""
    return Send(LOCAL_RELAY, message, Priority.CONTROL)
