"""Link state and shortest-path trees.

1. Every broker floods its own link state; the latest state of each broker is used.
2. A link exists when both of its ends report it; its cost is the larger of the two reported.
3. For each source every broker computes the same trees, of shortest distance from the source.
   Trees are never sent.
4. Equal paths are used: a source has several trees where a broker has several equal parents, and
   its pubends take turns on them.  The source announces the choices: in the tree of choice n every
   broker takes its n-th equal parent in the order of names, counted round.  Different sources begin
   with different choices.  The choices of a source that is up are never fewer than before, so that
   a link that comes and goes does not move its pubends from tree to tree.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, TypeAlias

from penstock.core.trees import Tree
from penstock.overlay.messages import MOST_TREES, LinkState

EqualParents: TypeAlias = dict[str, list[str]]
"""For each reachable broker the last brokers before it on the shortest paths from a root."""

SMALLEST_NAME: Final = 0
"""The choice of whoever needs one tree and has no reason for another."""


class LinkStateDatabase:
    """The latest link state of every broker."""

    def __init__(self) -> None:
        self._states: dict[str, LinkState] = {}
        self._links: dict[str, dict[str, int]] | None = None
        self._equal_parents: dict[str, EqualParents] = {}
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
        self._links = None
        self._equal_parents.clear()
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

    def equal_parents(self, root: str) -> EqualParents:
        """All shortest paths from one root, computed on first use like its tree."""
        found = self._equal_parents.get(root)
        if found is None:
            found = self._equal_parents[root] = equal_parents_from(root, self.links())
        return found

    def links(self) -> dict[str, dict[str, int]]:
        """The links that both ends report, with their cost; cached until a link state changes."""
        if self._links is None:
            self._links = self._agreed_links()
        return self._links

    def _agreed_links(self) -> dict[str, dict[str, int]]:
        agreed: dict[str, dict[str, int]] = {name: {} for name in sorted(self._states)}
        for name in agreed:
            for neighbour, cost in sorted(self._states[name].neighbours.items()):
                back = self._states.get(neighbour)
                if back is not None and name in back.neighbours:
                    agreed[name][neighbour] = max(cost, back.neighbours[name])
        return agreed


def equal_parents_from(root: str, links: dict[str, dict[str, int]]) -> EqualParents:
    """The equal parents of each broker that can be reached, in the order of their names."""
    distance = {root: 0}
    parents: EqualParents = {}
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
            if best is None or through < best:
                distance[neighbour] = through
                parents[neighbour] = [name]
                heappush(heap, (through, neighbour))
            elif through == best:
                parents[neighbour].append(name)
    return {name: sorted(equal) for name, equal in parents.items()}


def chosen_parents(equal_parents: EqualParents, choice: int) -> dict[str, str]:
    """The tree of one choice."""
    return {name: equal[choice % len(equal)] for name, equal in equal_parents.items()}


def parents_from(root: str, links: dict[str, dict[str, int]]) -> dict[str, str]:
    """Each reachable broker's parent in the tree of a root that has one tree."""
    return chosen_parents(equal_parents_from(root, links), SMALLEST_NAME)


def choices_of(source: str, database: LinkStateDatabase) -> tuple[int, ...]:
    """The trees that a source should have: as many as equal parents, pubends and the bound allow.

    The first choice is by the source's place among all sources, so that sources with one pubend
    each are spread over equal paths as well.
    """
    own = database.get(source)
    pubends = 0 if own is None else len(own.pubends)
    widest = max(map(len, database.equal_parents(source).values()), default=1)
    if widest == 1:
        return (SMALLEST_NAME,)
    first = sum(1 for each in database.states() if each.pubends and each.broker < source)
    return tuple(range(first, first + max(1, min(widest, pubends, MOST_TREES))))


def trees_of(broker: str, database: LinkStateDatabase) -> dict[str, Tree]:
    """This broker's place in the trees of every source that it can reach, itself included."""
    trees: dict[str, Tree] = {}
    for state in database.states():
        if not state.pubends:
            continue
        equal = database.equal_parents(state.broker)
        if broker != state.broker and broker not in equal:
            continue
        for number, choice in enumerate(state.choices):
            parents = chosen_parents(equal, choice)
            children = tuple(sorted(name for name, parent in parents.items() if parent == broker))
            tree = Tree(
                tree_name(state.broker, number, len(state.choices)),
                state.broker,
                parents.get(broker),
                children,
                state.incarnation,
                state.pubends[number :: len(state.choices)],
            )
            if tree.pubends:
                trees.setdefault(tree.name, tree)
    return trees


def tree_name(source: str, number: int, count: int) -> str:
    """What all brokers call a tree.  A source with more trees than before has other ones."""
    return source if count == 1 else f"{source}~{number + 1}of{count}"


def next_hops_of(broker: str, database: LinkStateDatabase) -> dict[str, str]:
    """The first link on the shortest path from this broker to every reachable broker."""
    parents = database.parents(broker)
    hops: dict[str, str] = {}
    for name in parents:
        at = name
        while parents[at] != broker:
            at = parents[at]
        hops[name] = at
    return hops
