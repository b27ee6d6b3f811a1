"""Link state and shortest-path trees.

1. Every broker floods its own link state; the latest state of each broker is used.
2. A link exists when both of its ends report it; its cost is the larger of the two reported.
3. For each source every broker computes the same tree: shortest distance from the source; of
   several equal parents, the one with the smallest name.  Trees are never sent.
"""

from __future__ import annotations

from heapq import heappop, heappush

from penstock.core.trees import Tree
from penstock.overlay.messages import LinkState


class LinkStateDatabase:
    """The latest link state of every broker."""

    def __init__(self) -> None:
        self._states: dict[str, LinkState] = {}
        self._parents: dict[str, dict[str, str]] = {}

    def learn(self, state: LinkState) -> bool:
        """Store a link state; False if it was known or is outdated."""
        known = self._states.get(state.broker)
        if known is not None and (known.incarnation, known.sequence) >= (
            state.incarnation,
            state.sequence,
        ):
            return False
        self._states[state.broker] = state
        self._parents.clear()
        return True

    def states(self) -> list[LinkState]:
        """All link states, in order of name."""
        return [self._states[name] for name in sorted(self._states)]

    def get(self, broker: str) -> LinkState | None:
        """The link state of one broker."""
        return self._states.get(broker)

    def incarnation(self, broker: str) -> int:
        """The latest incarnation of a broker; 0 if the broker is unknown."""
        state = self._states.get(broker)
        return 0 if state is None else state.incarnation

    def parents(self, root: str) -> dict[str, str]:
        """The tree of one root, computed on first use and cached until a link state changes."""
        parents = self._parents.get(root)
        if parents is None:
            parents = self._parents[root] = parents_from(root, self.links())
        return parents

    def links(self) -> dict[str, dict[str, int]]:
        """The links that both ends report, with their cost."""
        agreed: dict[str, dict[str, int]] = {name: {} for name in sorted(self._states)}
        for name in agreed:
            for neighbour, cost in sorted(self._states[name].neighbours.items()):
                back = self._states.get(neighbour)
                if back is not None and name in back.neighbours:
                    agreed[name][neighbour] = max(cost, back.neighbours[name])
        return agreed


def parents_from(root: str, links: dict[str, dict[str, int]]) -> dict[str, str]:
    """Each reachable broker's parent in the tree that is rooted at ``root``."""
    distance = {root: 0}
    parents: dict[str, str] = {}
    heap = [(0, root)]
    done = set()
    while heap:
        at, name = heappop(heap)
        if name in done:
            continue
        done.add(name)
        for neighbour, cost in links.get(name, {}).items():
            if neighbour in done:
                # Also protects against costs of 0 or less, which a faulty broker may report.
                continue
            through = at + cost
            best = distance.get(neighbour)
            if best is None or through < best or (through == best and name < parents[neighbour]):
                distance[neighbour] = through
                parents[neighbour] = name
                heappush(heap, (through, neighbour))
    return parents


def trees_of(broker: str, database: LinkStateDatabase) -> dict[str, Tree]:
    """This broker's place in the tree of every source that it can reach, itself included."""
    links = database.links()
    trees = {}
    for state in database.states():
        if not state.pubends:
            continue
        parents = parents_from(state.broker, links)
        if broker != state.broker and broker not in parents:
            continue
        children = tuple(sorted(name for name, parent in parents.items() if parent == broker))
        trees[state.broker] = Tree(
            state.broker, parents.get(broker), children, state.incarnation, state.pubends
        )
    return trees


def next_hops_of(broker: str, database: LinkStateDatabase) -> dict[str, str]:
    """The first link on the shortest path from this broker to every reachable broker."""
    parents = parents_from(broker, database.links())
    hops: dict[str, str] = {}
    for name in parents:
        at = name
        while parents[at] != broker:
            at = parents[at]
        hops[name] = at
    return hops
