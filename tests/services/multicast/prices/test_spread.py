"""Prices reach every broker that can use them, and never take the link that they are about."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.multicast.groups.route import link_number
from penstock.services.multicast.messages import PriceRecord
from penstock.services.multicast.prices.spread import PriceSpread

from ..conftest import Graph, Known, graphs


class Sending:
    """The brokers with senders, which a test may change."""

    def __init__(self, brokers: list[str]) -> None:
        self.brokers = brokers

    def sending_brokers(self) -> list[str]:
        return self.brokers


@given(graphs(), st.data())
def test_a_price_reaches_every_sender_that_can_use_it(graph: Graph, data: st.DataObject) -> None:
    known = Known(graph)
    sending = sorted(data.draw(st.sets(st.sampled_from(sorted(graph)))))
    start = data.draw(st.sampled_from(sorted(graph)))
    end = data.draw(st.sampled_from(sorted(graph[start])))
    record = PriceRecord(link_number(start, end), 1, 1.0)
    spreads = {}
    for name in graph:
        spreads[name] = PriceSpread(name, known, Sending(sending))
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


def test_the_price_of_an_unknown_link_goes_to_every_neighbour() -> None:
    spread = PriceSpread("a", Known({"a": {"b": 1}, "b": {"a": 1}}), Sending([]))
    spread.routes_changed()
    record = PriceRecord(12345, 1, 1.0)
    assert spread.wanted_by("b", [record]) == [record]


def test_a_new_sender_gets_prices_once_the_spread_hears_of_it(line: Known) -> None:
    sending = Sending([])
    spread = PriceSpread("b", line, sending)
    spread.routes_changed()
    record = PriceRecord(link_number("b", "c"), 1, 1.0)
    assert spread.wanted_by("a", [record]) == []
    sending.brokers = ["a"]
    spread.senders_changed()
    assert spread.wanted_by("a", [record]) == [record]
    assert spread.wanted_by("c", [record]) == []
