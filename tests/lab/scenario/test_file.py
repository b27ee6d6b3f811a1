from pathlib import Path
from typing import Any

import pytest

from penstock.lab.scenario.file import (
    ScenarioError,
    guaranteed_parameters,
    load_scenario,
    parse_scenario,
)
from penstock.lab.scenario.model import each_publisher, each_subscriber

GOOD: dict[str, Any] = {
    "name": "good",
    "duration_s": 5,
    "brokers": {"pb": {"pubends": 2}, "sb": {}},
    "links": [{"between": ["pb", "sb"]}],
    "publishers": [{"name": "p", "broker": "pb", "rate_msgs_per_s": 1}],
    "subscribers": [{"name": "s", "broker": "sb"}],
}


def changed(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


def test_every_shipped_scenario_is_valid() -> None:
    files = sorted(Path("scenarios").glob("*.toml"))
    assert files
    for file in files:
        if not file.name.startswith(("gossip", "queues")):
            load_scenario(file)


def test_a_group_is_numbered() -> None:
    group = {"name": "p", "count": 2, "broker": "pb", "pubend": "pb.{i+1}", "rate_msgs_per_s": 1}
    readers = {"name": "s", "count": 2, "broker": "sb", "selector": "n = {i}"}
    scenario = parse_scenario(changed(publishers=[group], subscribers=[readers]))
    assert [(each.name, each.pubend) for each in each_publisher(scenario)] == [
        ("p0", "pb.1"),
        ("p1", "pb.2"),
    ]
    assert [each.selector for each in each_subscriber(scenario)] == ["n = 0", "n = 1"]


def test_the_parameters_of_a_broker_override_those_of_all() -> None:
    scenario = parse_scenario(
        changed(
            parameters={"guaranteed": {"answer_bytes": 1000, "relay_cache_bytes": 2000}},
            brokers={"pb": {"pubends": 1, "guaranteed": {"answer_bytes": 5}}, "sb": {}},
        )
    )
    assert guaranteed_parameters(scenario, "pb").answer_bytes == 5
    assert guaranteed_parameters(scenario, "pb").relay_cache_bytes == 2000
    assert guaranteed_parameters(scenario, "sb").answer_bytes == 1000


PUBLISHER = GOOD["publishers"][0]
SUBSCRIBER = GOOD["subscribers"][0]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"durations": 3}, r"durations: unknown key; did you mean 'duration_s'\?"),
        ({"duration_s": -1}, r"duration_s: expected float > 0"),
        ({"brokers": {}}, r"brokers: a scenario needs at least one"),
        ({"brokers": {"p b": {}}}, r"brokers\.p b: 'p b' is not a name"),
        (
            {"brokers": {"pb": {"pubends": ["x"]}, "sb": {"pubends": ["x"]}}},
            r"brokers\.sb\.pubends: 'x' is already hosted by 'pb'",
        ),
        (
            {"links": [{"between": ["pb", "sc"]}]},
            r"links\[0\]\.between: there is no broker 'sc'; known are pb, sb",
        ),
        ({"links": [{"between": ["pb", "pb"]}]}, r"a link has two different ends"),
        ({"links": [{"between": ["pb", "sb"], "los": 0.1}]}, r"links\[.*los: unknown key.*'loss'"),
        (
            {"publishers": [{**PUBLISHER, "pubend": "pb.9"}]},
            r"publishers 'p'\.pubend: there is no pubend at 'pb' 'pb\.9'",
        ),
        ({"publishers": [{**PUBLISHER, "broker": "sb"}]}, r"'sb' hosts no pubend"),
        (
            {"publishers": [{**PUBLISHER, "rate_msgs_per_s": 0}]},
            r"set rate_msgs_per_s, or max_in_flight to",
        ),
        ({"publishers": [{**PUBLISHER, "wire_bytes": 9}]}, r"wire_bytes = 9 is too small"),
        ({"publishers": [{**PUBLISHER, "attributes": {"n": "cycle:x"}}]}, r"needs a range"),
        ({"publishers": [{"name": "p", "broker": "pb", "rate": 1}]}, r"publishers.*rate: unknown"),
        ({"publishers": [{"name": "p"}]}, r"publishers\[0\]\.broker: missing; add it"),
        ({"subscribers": [{**SUBSCRIBER, "selector": "n ="}]}, r"subscribers 's'\.selector: "),
        ({"subscribers": [{**SUBSCRIBER, "name": "p"}]}, r"another client has this name"),
        ({"subscribers": [{**SUBSCRIBER, "start_s": 2, "stop_s": 1}]}, r"stop_s: must be later"),
        ({"faults": [{"at_s": 1}]}, r"faults\[0\]: set exactly one of cut, mend"),
        ({"faults": [{"at_s": 1, "crash": "xx"}]}, r"faults\[0\]\.crash: there is no broker 'xx'"),
        ({"faults": [{"at_s": 1, "cut": ["sb", "xx"]}]}, r"there is no link sb - xx; there are"),
        ({"faults": [{"at_s": 1, "leave": "q"}]}, r"leave: there is no client 'q'"),
        ({"expect": [{"metric": "lost"}]}, r"expect\[0\]: set at_most or at_least"),
        (
            {"parameters": {"guaranteed": {"answer_byte": 1}}},
            r"parameters\.guaranteed\.answer_byte: unknown key; did you mean 'answer_bytes'\?",
        ),
    ],
)
def test_an_error_names_the_key_and_the_remedy(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        parse_scenario(changed(**changes))


def test_a_file_is_named_in_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("name = ")
    with pytest.raises(ScenarioError, match=r"bad\.toml: not TOML"):
        load_scenario(path)
    with pytest.raises(ScenarioError, match=r"none\.toml: cannot be read: No such file"):
        load_scenario(tmp_path / "none.toml")
