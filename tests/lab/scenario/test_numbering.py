"""``count`` and ``{i}``: what tables stand for, and when each client starts and stops."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.scenario.model import Broker, Client, Link, LinkChange, Scenario
from penstock.lab.scenario.numbering import expanded, replaced
from penstock.lab.workloads.guaranteed.tables import Publisher, Subscriber


def subscriber(**keys: Any) -> Subscriber:
    return Subscriber(**{"service": "guaranteed", "role": "subscriber", "name": "s", **keys})


def clients(*tables: Client, seed: int = 0) -> list[Any]:
    return list(expanded(Scenario(name="x", duration_s=9, clients=tables), seed).clients)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("b{i}", ["b0", "b1", "b2", "b3", "b4", "b5"]),
        ("b{i+1}", ["b1", "b2", "b3", "b4", "b5", "b6"]),
        ("{i-1}", ["-1", "0", "1", "2", "3", "4"]),
        ("b{i%2}", ["b0", "b1", "b0", "b1", "b0", "b1"]),
        ("b{i+1%5}", ["b1", "b2", "b3", "b4", "b0", "b1"]),
        ("b{i-1%5}", ["b4", "b0", "b1", "b2", "b3", "b4"]),
        ("{i}-{i+1}", ["0-1", "1-2", "2-3", "3-4", "4-5", "5-6"]),
        ("n < {j} {", ["n < {j} {"] * 6),
    ],
)
def test_numbers_in_a_text(text: str, numbers: list[str]) -> None:
    assert [replaced(text, number) for number in range(6)] == numbers


def test_numbers_are_replaced_in_lists_and_tables_but_nothing_else() -> None:
    value = {"{i}": ["{i+1}", ("b{i}", 3)], "n": 4, "yes": True, "none": None}
    assert replaced(value, 7) == {"7": ["8", ("b7", 3)], "n": 4, "yes": True, "none": None}


def test_brokers_and_links_are_counted() -> None:
    change = LinkChange(at_s=1, loss=0.5)
    whole = expanded(
        Scenario(
            name="x",
            duration_s=1,
            brokers=(
                Broker(name="hub"),
                Broker(name="b", count=3, keys={"pubends": ["of{i}"]}),
                Broker(name="e{i+1}", count=2, start_s=2),
            ),
            links=(
                Link(between=("hub", "b{i}"), count=3, latency_ms=5, changes=(change,)),
                Link(between=("b{i}", "b{i+1%3}"), count=3),
            ),
        )
    )
    assert [each.name for each in whole.brokers] == ["hub", "b0", "b1", "b2", "e1", "e2"]
    assert [each.keys for each in whole.brokers[1:4]] == [
        {"pubends": ["of0"]},
        {"pubends": ["of1"]},
        {"pubends": ["of2"]},
    ]
    assert [each.start_s for each in whole.brokers[4:]] == [2, 2]
    assert [each.between for each in whole.links] == [
        ("hub", "b0"),
        ("hub", "b1"),
        ("hub", "b2"),
        ("b0", "b1"),
        ("b1", "b2"),
        ("b2", "b0"),
    ]
    assert all(each.latency_ms == 5 and each.changes == (change,) for each in whole.links[:3])
    assert {each.count for each in (*whole.brokers, *whole.links)} == {1}


def test_clients_are_counted_with_all_their_texts() -> None:
    publishers = Publisher(
        service="guaranteed",
        role="publisher",
        name="p",
        count=2,
        broker="b{i}",
        pubend="b{i}.{i+1}",
        attributes={"from": "p{i}", "n": 3},
    )
    readers = subscriber(name="r{i+1}-x", count=2, selector="n = {i}")
    found = clients(publishers, readers)
    assert [(each.name, each.broker, each.pubend) for each in found[:2]] == [
        ("p0", "b0", "b0.1"),
        ("p1", "b1", "b1.2"),
    ]
    assert found[1].attributes == {"from": "p1", "n": 3}
    assert [(each.name, each.selector) for each in found[2:]] == [
        ("r1-x", "n = 0"),
        ("r2-x", "n = 1"),
    ]


def test_a_single_table_may_have_a_number_too() -> None:
    assert [each.name for each in clients(subscriber(name="s{i}"))] == ["s0"]
    assert [each.name for each in clients(subscriber(name="s"))] == ["s"]


def test_each_of_several_clients_starts_and_stops_later_than_the_one_before() -> None:
    table = subscriber(count=3, start_s=1, start_every_s=0.5, stop_s=4, stop_every_s=2)
    assert [(each.start_s, each.stop_s) for each in clients(table)] == [(1, 4), (1.5, 6), (2, 8)]
    for_ever = subscriber(count=2, stop_every_s=2)
    assert [each.stop_s for each in clients(for_ever)] == [None, None]


def test_random_starts_lie_in_their_interval_and_depend_on_the_seed() -> None:
    table = subscriber(count=20, start_s=1, start_within_s=2)

    def starts(seed: int) -> list[float]:
        return [each.start_s for each in clients(table, seed=seed)]

    assert starts(1) == starts(1)
    assert starts(1) != starts(2)
    assert all(1 <= each < 3 for each in starts(1))
    assert len(set(starts(1))) == 20
    assert max(starts(1)) - min(starts(1)) > 1


def test_other_clients_do_not_change_a_random_start() -> None:
    alone = clients(subscriber(name="r", count=2, start_within_s=2), seed=5)
    among = clients(subscriber(count=4), subscriber(name="r", count=2, start_within_s=2), seed=5)
    assert [each.start_s for each in among[4:]] == [each.start_s for each in alone]


def test_a_client_belongs_to_the_group_of_its_table() -> None:
    found = clients(
        subscriber(name="fast", count=2, broker="b{i}"),
        subscriber(name="slow-{i}-reader", count=1, broker="b0"),
        subscriber(name="one", broker="b0"),
    )
    assert [each.subjects for each in found] == [
        {"fast0", "fast", "b0"},
        {"fast1", "fast", "b1"},
        {"slow-0-reader", "slow--reader", "b0"},
        {"one", "b0"},
    ]


def test_the_group_of_a_publisher_has_its_pubend() -> None:
    table = Publisher(service="guaranteed", role="publisher", name="p", broker="b", pubend="b.1")
    assert clients(table)[0].subjects == {"p", "b", "b.1"}


def test_what_was_expanded_stays_when_it_is_expanded_again() -> None:
    scenario = Scenario(
        name="x",
        duration_s=9,
        brokers=(Broker(name="b", count=2),),
        clients=(subscriber(count=3, start_within_s=2, start_every_s=1, broker="b{i%2}"),),
    )
    once = expanded(scenario, 3)
    assert expanded(once, 4) == once
