"""Trees: every receiver is reached, over each link once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.multicast.groups.route import link_number, next_links, path_to, route_to
from penstock.services.multicast.messages import Destination

from ..conftest import Graph, Known, graphs


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


def test_a_broker_that_cannot_be_reached_has_no_path() -> None:
    assert path_to("a", "z", {"b": "a"}) == ()
    route = route_to("a", ["b", "z"], {"b": "a"})
    assert route.brokers == ("b", "z")
    assert [(link.broker, link.neighbour) for link in route.links] == [("a", "b")]
