"""The services' keys of single brokers: those for all, their own, and those of a later time."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.clock import SECOND
from penstock.lab.scenario.broker_tables import (
    broker_keys,
    broker_tables,
    neighbours_of,
    node_config_of,
    service_keys,
)
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Scenario
from penstock.services.guaranteed.settings import GuaranteedSettings, GuaranteedTable
from penstock.services.queues.settings import QueuesTable
from penstock.services.registry import broker_services

SCENARIO: dict[str, Any] = {
    "name": "x",
    "duration_s": 1,
    "trace_interval_s": 0.5,
    "parameters": {
        "guaranteed": {
            "answer_bytes": 1000,
            "relay_cache_bytes": 2000,
            "congestion": {"law": "paper", "pdcc": False},
        }
    },
    "brokers": [
        {
            "name": "pb",
            "pubends": 2,
            "guaranteed": {"answer_bytes": 5, "congestion": {"pdcc": True}},
            "queues": {"work": {"depth_limit_messages": 7}},
        },
        {"name": "sb"},
        {"name": "named", "pubends": ["orders", "trades"]},
    ],
    "links": [{"between": ["pb", "sb"], "cost": 3}, {"between": ["named", "pb"]}],
}


@pytest.fixture
def scenario() -> Scenario:
    return parse_scenario(SCENARIO)


def guaranteed(scenario: Scenario, name: str, **changed: Any) -> GuaranteedTable:
    tables = broker_tables(scenario, scenario.broker(name), changed)
    (table,) = [each for each in tables if isinstance(each, GuaranteedTable)]
    return table


def test_the_parameters_of_a_broker_go_before_those_of_all(scenario: Scenario) -> None:
    own, common = guaranteed(scenario, "pb").guaranteed, guaranteed(scenario, "sb").guaranteed
    assert (own.answer_bytes, common.answer_bytes) == (5, 1000)
    assert own.relay_cache_bytes == common.relay_cache_bytes == 2000
    assert (own.congestion.law, own.congestion.pdcc) == ("paper", True)
    assert (common.congestion.law, common.congestion.pdcc) == ("paper", False)


def test_a_broker_without_keys_hosts_nothing(scenario: Scenario) -> None:
    assert guaranteed(scenario, "sb").pubend_names("sb") == ()
    tables = broker_tables(scenario, scenario.broker("sb"))
    (queues,) = [each for each in tables if isinstance(each, QueuesTable)]
    assert queues.queues == queues.aliases == {}


def test_pubends_are_numbered_or_named(scenario: Scenario) -> None:
    assert guaranteed(scenario, "pb").pubend_names("pb") == ("pb.1", "pb.2")
    assert guaranteed(scenario, "named").pubend_names("named") == ("orders", "trades")


def test_the_tables_of_all_services_are_told_once_each(scenario: Scenario) -> None:
    expected = [each.table for each in broker_services() if each.table is not None]
    assert [type(each) for each in broker_tables(scenario, scenario.broker("pb"))] == expected


def test_named_tables_know_their_name(scenario: Scenario) -> None:
    tables = broker_tables(scenario, scenario.broker("pb"))
    (queues,) = [each for each in tables if isinstance(each, QueuesTable)]
    assert queues.queues["work"].name == "work"
    assert queues.queues["work"].depth_limit_messages == 7


def test_a_reconfiguration_goes_before_everything(scenario: Scenario) -> None:
    changed = guaranteed(scenario, "pb", pubends=3, guaranteed={"answer_bytes": 9})
    assert changed.pubend_names("pb") == ("pb.1", "pb.2", "pb.3")
    assert changed.guaranteed.answer_bytes == 9
    assert changed.guaranteed.relay_cache_bytes == 2000


def test_parameters_of_clients_are_no_keys_of_brokers() -> None:
    raw = {**SCENARIO, "parameters": {"gossip": {"fanout": 4}}}
    scenario = parse_scenario(raw)
    assert broker_keys(scenario, scenario.broker("sb")) == {}
    assert "gossip" not in service_keys()
    assert {"pubends", "guaranteed", "queues", "aliases"} <= service_keys().keys()


def test_a_machine_gets_its_neighbours_settings_and_interval(scenario: Scenario) -> None:
    config = node_config_of(scenario, scenario.broker("pb"), {"pubends": 1})
    assert config.name == "pb"
    assert config.neighbours == {"sb": 3, "named": 1}
    assert config.trace_interval_ns == SECOND // 2
    (settings,) = [each for each in config.settings if isinstance(each, GuaranteedSettings)]
    assert settings.pubends == ("pb.1",)
    assert neighbours_of(scenario, "sb") == {"pb": 3}


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"pubends": ["a", "a"]}, r"brokers 'pb'\.pubends: a name stands twice"),
        ({"pubends": ["a b"]}, r"brokers 'pb'\.pubends: 'a b' is not a name"),
        ({"queues": {"work": {"depth_limit": 1}}}, r"brokers 'pb'\.queues\.work\.depth_limit: unk"),
    ],
)
def test_an_error_names_the_broker_and_the_key(
    scenario: Scenario, keys: dict[str, Any], told: str
) -> None:
    with pytest.raises(ScenarioError, match=told):
        broker_tables(scenario, scenario.broker("pb"), keys)
