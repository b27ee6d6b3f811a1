"""Trees: everybody is reached, over each link once; prices reach whoever can use them."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from penstock.overlay.routing import parents_from
from penstock.services.multicast.groups.route import link_number, next_links, path_to, route_to
from penstock.services.multicast.messages import Destination, PriceRecord
from penstock.services.multicast.prices.spread import PriceSpread

Graph = dict[str, dict[str, int]]
NAMES = "abcdefgh"


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Connected graphs with costs."""
    graph: Graph = {name: {} for name in NAMES[: draw(st.integers(2, len(NAMES)))]}
    names = list(graph)
    for index, name in enumerate(names[1:], 1):
        other = names[draw(st.integers(0, index - 1))]
        graph[name][other] = graph[other][name] = draw(st.integers(1, 3))
    for _ in range(draw(st.integers(0, 6))):
        one, two = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        if one != two:
            graph[one][two] = graph[two][one] = draw(st.integers(1, 3))
    return graph


class Known:
    """A topology that everybody knows."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def parents(self, root: str) -> Mapping[str, str]:
        return parents_from(root, self._graph)

    def links(self) -> Mapping[str, Mapping[str, int]]:
        return self._graph

    def incarnation(self, broker: str) -> int:
        return 1


@given(graphs(), st.data())
def test_a_message_reaches_its_receivers_over_each_link_once(
    graph: Graph, data: st.DataObject
) -> None:
    known = Known(graph)
    root = data.draw(st.sampled_from(sorted(graph)))
    wanted = data.draw(st.sets(st.sampled_from(sorted(graph)), min_size=1))
    crossed: list[tuple[str, str]] = []
    reached: list[str] = []
    under_way = [("", root, [Destination(each, 0, 1, 1) for each in sorted(wanted)])]
    while under_way:
        came_from, here, destinations = under_way.pop()
        reached += [each.broker for each in destinations if each.broker == here]
        onward = [each for each in destinations if each.broker != here]
        for link, behind in next_links(here, came_from, root, onward, known.parents).items():
            crossed.append((here, link))
            under_way.append((here, link, behind))
    assert sorted(reached) == sorted(wanted)
    assert len(crossed) == len(set(crossed))
    route = route_to(root, wanted, known.parents(root))
    assert sorted(crossed) == sorted((link.broker, link.neighbour) for link in route.links)
    assert {link.number for link in route.links} == {link_number(*each) for each in crossed}


@given(graphs(), st.data())
def test_a_price_reaches_every_sender_that_can_use_it(graph: Graph, data: st.DataObject) -> None:
    known = Known(graph)
    sending = sorted(data.draw(st.sets(st.sampled_from(sorted(graph)))))
    start = data.draw(st.sampled_from(sorted(graph)))
    end = data.draw(st.sampled_from(sorted(graph[start])))
    record = PriceRecord(link_number(start, end), 1, 1.0)
    spreads = {}
    for name in graph:
        spreads[name] = PriceSpread(name, known, lambda: sending)
        spreads[name].routes_changed()
    told: dict[str, None] = {start: None}
    under_way = [start]
    while under_way:
        here = under_way.pop()
        for neighbour in graph[here]:
            if spreads[here].wanted_by(neighbour, [record]) and neighbour not in told:
                told[neighbour] = None
                under_way.append(neighbour)
    users = [name for name in sending if known.parents(name).get(end) == start]
    assert set(users) <= set(told)
    assert end not in told, "a price never takes room on the link that it is about"


def test_an_unknown_link_is_told_to_everybody() -> None:
    spread = PriceSpread("a", Known({"a": {"b": 1}, "b": {"a": 1}}), list)
    spread.routes_changed()
    record = PriceRecord(12345, 1, 1.0)
    assert spread.wanted_by("b", [record]) == [record]


def test_who_cannot_be_reached_has_no_way() -> None:
    assert path_to("a", "z", {"b": "a"}) == ()
    route = route_to("a", ["b", "z"], {"b": "a"})
    assert route.brokers == ("b", "z")
    assert [(link.broker, link.neighbour) for link in route.links] == [("a", "b")]
