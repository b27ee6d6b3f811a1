"""Link state and trees: every broker computes the same ones, in whatever order it heard."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from penstock.core.trees import Tree
from penstock.overlay.messages import MOST_TREES, LinkState
from penstock.overlay.routing import (
    LinkStateDatabase,
    choices_of,
    chosen_parents,
    equal_parents_from,
    next_hops_of,
    parents_from,
    trees_of,
)

Graph = dict[tuple[str, str], int]


def states(graph: Graph, pubends: dict[str, tuple[str, ...]] | None = None) -> list[LinkState]:
    """The accounts that the brokers of a graph give of themselves."""
    names = sorted({name for link in graph for name in link})
    accounts = []
    for name in names:
        neighbours = {
            b if a == name else a: cost for (a, b), cost in graph.items() if name in (a, b)
        }
        accounts.append(LinkState(name, 1, 1, neighbours, (pubends or {}).get(name, ())))
    return accounts


def database(accounts: list[LinkState]) -> LinkStateDatabase:
    made = LinkStateDatabase()
    for account in accounts:
        made.learn(account)
    return made


# -- random graphs --------------------------------------------------------------------------

NAMES = [f"n{number}" for number in range(8)]
graphs = st.dictionaries(
    st.sampled_from([(a, b) for a in NAMES for b in NAMES if a < b]),
    st.integers(1, 4),
    min_size=1,
    max_size=18,
)


def distances(root: str, links: dict[str, dict[str, int]]) -> dict[str, int]:
    """Bellman and Ford, as unlike the tested code as can be."""
    known = {root: 0}
    for _ in links:
        for name, neighbours in links.items():
            for neighbour, cost in neighbours.items():
                if name in known and known[name] + cost < known.get(neighbour, 1 << 30):
                    known[neighbour] = known[name] + cost
    return known


# -- the database ---------------------------------------------------------------------------


def test_a_later_account_replaces_an_earlier_one_and_not_the_other_way() -> None:
    known = LinkStateDatabase()
    newer = LinkState("a", 1, 5, {"b": 1}, ())

    assert known.learn(newer)
    assert not known.learn(newer)
    assert not known.learn(LinkState("a", 1, 4, {}, ()))
    assert known.get("a") == newer


def test_a_broker_that_was_started_anew_counts_anew() -> None:
    known = database([LinkState("a", 1, 500, {"b": 1}, ())])

    assert known.learn(LinkState("a", 2, 1, {}, ()))
    assert not known.learn(LinkState("a", 1, 501, {"b": 1}, ()))


def test_a_link_exists_when_both_ends_say_so_and_costs_the_larger_of_the_two() -> None:
    known = database(
        [
            LinkState("a", 1, 1, {"b": 3, "c": 1, "stranger": 1}, ()),
            LinkState("b", 1, 1, {"a": 5}, ()),
            LinkState("c", 1, 1, {}, ()),
        ]
    )

    assert known.links() == {"a": {"b": 5}, "b": {"a": 5}, "c": {}}


# -- trees ----------------------------------------------------------------------------------


def test_the_shortest_way_wins_even_if_it_has_more_hops() -> None:
    links = database(states({("a", "d"): 10, ("a", "b"): 2, ("b", "c"): 2, ("c", "d"): 2})).links()

    assert parents_from("a", links) == {"b": "a", "c": "b", "d": "c"}


def test_among_equals_the_parent_whose_name_comes_first_wins() -> None:
    graph = {("root", "x"): 1, ("root", "b"): 1, ("x", "leaf"): 1, ("b", "leaf"): 1}

    assert parents_from("root", database(states(graph)).links())["leaf"] == "b"


def test_a_link_that_claims_to_cost_nothing_or_less_breaks_nothing() -> None:
    links = {"a": {"b": 0}, "b": {"a": 0, "c": -5}, "c": {"b": -5}}
    assert parents_from("a", links) == {"b": "a", "c": "b"}


def test_a_tree_names_parent_children_and_pubends() -> None:
    known = database(
        states({("pb", "ib"): 1, ("ib", "s1"): 1, ("ib", "s2"): 1}, {"pb": ("p", "q")})
    )

    assert trees_of("ib", known) == {"pb": Tree("pb", "pb", "pb", ("s1", "s2"), 1, ("p", "q"))}
    assert trees_of("pb", known) == {"pb": Tree("pb", "pb", None, ("ib",), 1, ("p", "q"))}
    assert trees_of("s1", known) == {"pb": Tree("pb", "pb", "ib", (), 1, ("p", "q"))}


DIAMOND: Graph = {("a", "x"): 1, ("a", "y"): 1, ("b", "x"): 1, ("b", "y"): 1}


def announced(graph: Graph, pubends: dict[str, tuple[str, ...]]) -> LinkStateDatabase:
    """What is known when every source has announced its choices."""
    known = database(states(graph, pubends))
    chosen = {name: choices_of(name, known) for name in pubends}
    for state in known.states():
        if state.broker in chosen:
            known.learn(replace(state, sequence=2, choices=chosen[state.broker]))
    return known


def test_pubends_take_turns_on_equal_paths() -> None:
    known = announced(DIAMOND, {"a": ("p", "q", "r")})

    assert choices_of("a", known) == (0, 1)
    assert trees_of("b", known) == {
        "a~1of2": Tree("a~1of2", "a", "x", (), 1, ("p", "r")),
        "a~2of2": Tree("a~2of2", "a", "y", (), 1, ("q",)),
    }


def test_sources_with_one_pubend_each_take_different_paths() -> None:
    graph = DIAMOND | {("c", "x"): 1, ("c", "y"): 1}
    trees = trees_of("b", announced(graph, {"a": ("p",), "c": ("q",)}))

    assert {name: tree.parent for name, tree in trees.items()} == {"a": "x", "c": "y"}


def test_there_are_no_more_trees_than_the_bound_pubends_and_equal_parents_allow() -> None:
    middle = [f"m{number}" for number in range(9)]
    wide = {(end, each): 1 for end in ("a", "b") for each in middle}
    many = tuple(f"p{number}" for number in range(20))

    for graph, pubends, trees in (
        (wide, many, MOST_TREES),
        (wide, many[:3], 3),
        (wide, many[:1], 1),
        (DIAMOND, many, 2),
        ({("a", "b"): 1, ("b", "c"): 1}, many, 1),
    ):
        assert len(choices_of("a", announced(graph, {"a": pubends}))) == trees


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_choice_gives_a_tree_of_shortest_paths(data: st.DataObject) -> None:
    graph = data.draw(graphs)
    links = database(states(graph)).links()
    root = sorted(links)[0]
    known = distances(root, links)
    equal = equal_parents_from(root, links)
    for choice in range(4):
        parents = chosen_parents(equal, choice)
        assert parents.keys() | {root} == known.keys()
        for name, parent in parents.items():
            assert known[name] == known[parent] + links[parent][name]


def test_a_source_that_cannot_be_reached_has_no_tree() -> None:
    graph = {("a", "b"): 1, ("c", "d"): 1}
    known = database(states(graph, {"c": ("p",)}))

    assert trees_of("a", known) == {}
    assert "c" not in next_hops_of("a", known)


def test_the_next_hop_is_the_first_link_on_the_way() -> None:
    known = database(states({("a", "b"): 1, ("b", "c"): 1, ("a", "z"): 1}))

    assert next_hops_of("a", known) == {"b": "b", "c": "b", "z": "z"}


@settings(max_examples=60, deadline=None)
@given(graph=graphs, order=st.randoms(use_true_random=False))
def test_all_brokers_compute_the_same_trees_from_any_order_of_accounts(
    graph: Graph, order: object
) -> None:
    accounts = states(graph, {name: (f"pubend-{name}",) for name in NAMES})
    places: dict[str, dict[str, Tree]] = {}
    for account in accounts:
        heard = list(accounts)
        order.shuffle(heard)  # type: ignore[attr-defined]
        places[account.broker] = trees_of(account.broker, database(heard))

    for name, trees in places.items():
        for root, tree in trees.items():
            for child in tree.children:
                assert places[child][root].parent == name
            if tree.parent is not None:
                assert name in places[tree.parent][root].children


@settings(max_examples=60, deadline=None)
@given(graph=graphs)
def test_parents_lie_on_a_shortest_way_and_ties_go_to_the_first_name(graph: Graph) -> None:
    links = database(states(graph)).links()
    for root in links:
        far = distances(root, links)
        parents = parents_from(root, links)
        assert parents.keys() == far.keys() - {root}
        for name, parent in parents.items():
            best = [n for n, cost in links[name].items() if far[n] + cost == far[name]]
            assert parent == min(best)


@settings(max_examples=60, deadline=None)
@given(graph=graphs)
def test_following_next_hops_arrives_by_a_shortest_way(graph: Graph) -> None:
    known = database(states(graph))
    links = known.links()
    hops = {name: next_hops_of(name, known) for name in links}
    for source in links:
        far = distances(source, links)
        for target in hops[source]:
            way = [source]
            while way[-1] != target:
                way.append(hops[way[-1]][target])
                assert len(way) <= len(links)
            assert sum(links[a][b] for a, b in pairwise(way)) == far[target]
