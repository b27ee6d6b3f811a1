from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from penstock.core.configuration import ConfigurationError
from penstock.lab.scenario.file import read_scenario
from penstock.lab.scenario.random_scenario import random_scenario
from penstock.lab.scenario.schema import schema_text
from penstock.lab.scenario.write import to_toml
from penstock.lab.service import lab_services
from tests.lab.scenario.schema_walk import problems

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads(schema_text())
SHIPPED = sorted([*ROOT.glob("scenarios/*.toml"), *ROOT.glob("src/penstock/papers/*/scenarios/*")])
SERVICES = sorted(lab_services())


def wrong(raw: dict[str, Any]) -> list[str]:
    return problems(SCHEMA, raw, SCHEMA)


def test_the_written_schema_is_up_to_date() -> None:
    file = "docs/reference/scenario.schema.json"
    assert (ROOT / file).read_text() == schema_text(), "run: make reference"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_scenario_is_valid(path: Path) -> None:
    assert wrong(tomllib.loads(path.read_text())) == []


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("service", SERVICES)
def test_random_scenarios_are_valid(service: str, seed: int) -> None:
    assert wrong(tomllib.loads(to_toml(random_scenario(seed, (service,))))) == []


GOOD: dict[str, Any] = {
    "name": "good",
    "duration_s": 5,
    "parameters": {"guaranteed": {"congestion": {"law": "paper"}}},
    "brokers": [{"name": "a", "pubends": 2, "queues": {"work": {}}}, {"name": "b"}],
    "links": [{"between": ["a", "b"], "changes": [{"at_s": 1, "loss": 0.5}]}],
    "clients": [
        {
            "service": "guaranteed",
            "role": "publisher",
            "name": "p",
            "broker": "a",
            "rate_msgs_per_s": [[0, 5], [1, 10]],
        }
    ],
    "faults": [{"at_s": 1, "reconfigure": {"broker": "a", "pubends": 3}}],
    "expect": [{"metric": "violations", "at_most": 0}],
}


def test_the_example_is_valid() -> None:
    assert wrong(GOOD) == []


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("duration_s",), 0),
        (("nmae",), "x"),
        (("parameters", "guaranteed", "congestion", "law"), "fancy"),
        (("parameters", "guaranted"), {}),
        (("brokers", 0, "pubend"), 2),
        (("brokers", 0, "pubends"), -1),
        (("brokers", 0, "queues", "work", "lax"), 1),
        (("brokers", 0, "keys"), {}),
        (("links", 0, "between"), ["a"]),
        (("links", 0, "changes", 0, "loss"), 1),
        (("clients", 0, "service"), "mail"),
        (("clients", 0, "role"), "reader"),
        (("clients", 0, "selector"), "a = 1"),
        (("clients", 0, "group_of"), "p"),
        (("clients", 0, "rate_msgs_per_s"), [[0, "x"]]),
        (("faults", 0, "crash"), "a"),
        (("faults", 0, "reconfigure", "pubend"), 3),
        (("expect", 0, "aggregate"), "most"),
    ],
)
def test_a_mistake_is_found_by_the_schema(way: tuple[str | int, ...], value: Any) -> None:
    raw = copy.deepcopy(GOOD)
    at: Any = raw
    for step in way[:-1]:
        at = at[step]
    at[way[-1]] = value
    assert wrong(raw)


@pytest.mark.parametrize("key", ["name", "duration_s"])
def test_a_missing_key_is_found_by_both(key: str) -> None:
    raw = {name: value for name, value in GOOD.items() if name != key}
    assert wrong(raw)
    with pytest.raises(ConfigurationError):
        read_scenario(raw)
