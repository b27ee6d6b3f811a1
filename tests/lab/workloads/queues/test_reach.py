"""Which queues messages can be in, and what keeps them there until the end."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.workloads.queues.reach import Reach


def producer_of(scenario: Any) -> Any:
    return scenario.clients[0]


def consumer_of(scenario: Any) -> Any:
    return scenario.clients[1]


@pytest.mark.parametrize(
    ("keys", "queues", "in_order"),
    [
        ({}, {"work@east", "work@west"}, False),
        ({"queue": "work@east"}, {"work@east"}, False),
        ({"queue": "work", "broker": "east"}, {"work@east"}, True),
        ({"queue": "dead-letters", "broker": "east"}, {"dead-letters@east"}, True),
    ],
)
def test_the_queues_that_messages_reach(
    make_scenario: Any, keys: dict[str, str], queues: set[str], in_order: bool
) -> None:
    scenario = make_scenario({f"clients.p.{key}": value for key, value in keys.items()})
    reach = Reach(scenario)
    assert reach.queues_of(producer_of(scenario)) == queues
    assert reach.keeps_order(producer_of(scenario)) is in_order


def test_a_destination_that_a_later_configuration_names_is_reached(make_scenario: Any) -> None:
    alias = {"orders": {"destinations": ["work@west", "spare@east"]}}
    changed = [{"at_s": 1, "reconfigure": {"broker": "home", "aliases": alias}}]
    scenario = make_scenario(faults=changed)
    found = Reach(scenario).queues_of(producer_of(scenario))
    assert found == {"work@east", "work@west", "spare@east"}


CUT, MEND = {"at_s": 1, "cut": ["home", "east"]}, {"at_s": 2, "mend": ["east", "home"]}
CRASH, RESTART = {"at_s": 1, "crash": "east"}, {"at_s": 2, "restart": "east"}
FILL, FREE = {"at_s": 1, "fill_disk": "east"}, {"at_s": 2, "free_disk": "east"}
FAIL, CRASH_LATER = {"at_s": 1, "fail_sync": "east"}, {"at_s": 2, "crash": "east"}
RESTART_LATER = {"at_s": 3, "restart": "east"}
RECONFIGURE = {"at_s": 3, "reconfigure": {"broker": "east", "queues": {"work": {}, "spare": {}}}}


@pytest.mark.parametrize(
    ("faults", "held_up", "stays"),
    [
        ([], False, True),
        ([CUT], True, True),
        ([CUT, MEND], False, True),
        ([CRASH], True, False),
        ([CRASH, RESTART], False, True),
        ([RESTART, CRASH], False, True),
        ([FILL], True, False),
        ([FILL, FREE], False, True),
        ([FAIL], True, False),
        ([FAIL, CRASH_LATER], True, False),
        ([FAIL, CRASH_LATER, RESTART_LATER], False, True),
        ([FAIL, RECONFIGURE], False, True),
        ([FAIL, RESTART_LATER], True, False),
        ([{"at_s": 1, "leave": "east"}], False, False),
        ([{"at_s": 1, "leave": "east"}, {"at_s": 2, "come_back": "east"}], False, True),
        ([{"at_s": 1, "close": "east"}], False, False),
        ([{"at_s": 1, "close": "east"}, {"at_s": 2, "reopen": "east"}], False, True),
        ([{"at_s": 1, "drop_client": "east"}], False, True),
    ],
)
def test_faults_that_last_until_the_end(
    make_scenario: Any, faults: list[Any], held_up: bool, stays: bool
) -> None:
    scenario = make_scenario(faults=faults)
    reach = Reach(scenario)
    assert reach.holds_up(producer_of(scenario)) is held_up
    assert reach.stays(consumer_of(scenario)) is stays


def test_a_sync_that_fails_before_the_broker_has_started_is_not_mended_by_a_crash(
    make_scenario: Any,
) -> None:
    scenario = make_scenario({"brokers.east.start_s": 3}, faults=[FAIL, CRASH_LATER])
    assert Reach(scenario).holds_up(producer_of(scenario))


def test_a_consumer_that_stops_does_not_stay(make_scenario: Any) -> None:
    scenario = make_scenario({"clients.east.stop_s": 3})
    assert not Reach(scenario).stays(consumer_of(scenario))
    scenario = make_scenario({"clients.east.stop_s": 4})
    assert Reach(scenario).stays(consumer_of(scenario)), "it stops with the scenario"


def test_a_cut_link_holds_up_nothing_that_stays_at_one_broker(make_scenario: Any) -> None:
    scenario = make_scenario({"clients.p.queue": "work", "clients.p.broker": "east"}, faults=[CUT])
    assert not Reach(scenario).holds_up(producer_of(scenario))
