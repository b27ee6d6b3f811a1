from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.file import load_scenario, parse_scenario
from penstock.lab.workloads.guaranteed.tables import Publisher, Subscriber

PUBLISHER: dict[str, Any] = {
    "service": "guaranteed",
    "role": "publisher",
    "name": "p",
    "broker": "pb",
    "rate_msgs_per_s": 1,
}
SUBSCRIBER: dict[str, Any] = {
    "service": "guaranteed",
    "role": "subscriber",
    "name": "s",
    "broker": "sb",
}
GOOD: dict[str, Any] = {
    "name": "good",
    "duration_s": 5,
    "brokers": [{"name": "pb", "pubends": 2}, {"name": "sb"}],
    "links": [{"between": ["pb", "sb"]}],
    "clients": [SUBSCRIBER, PUBLISHER],
}


def changed(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


def publisher(**changes: Any) -> dict[str, Any]:
    return changed(clients=[SUBSCRIBER, {**PUBLISHER, **changes}])


def subscriber(**changes: Any) -> dict[str, Any]:
    return changed(clients=[{**SUBSCRIBER, **changes}, PUBLISHER])


def fault(**what: Any) -> dict[str, Any]:
    return changed(faults=[{"at_s": 1, **what}])


def test_every_shipped_scenario_is_valid() -> None:
    files = sorted((Path(__file__).parents[3] / "scenarios").glob("*.toml"))
    assert files
    for file in files:
        load_scenario(file)


def test_a_client_is_a_table_of_its_role() -> None:
    scenario = parse_scenario(GOOD)
    first, second = scenario.clients
    assert first == Subscriber(service="guaranteed", role="subscriber", name="s", broker="sb")
    assert second == Publisher(
        service="guaranteed", role="publisher", name="p", broker="pb", rate_msgs_per_s=1
    )
    assert scenario.services == ("guaranteed",)


def test_the_keys_of_services_stand_beside_those_of_the_broker() -> None:
    broker = {"name": "pb", "disk_sync_ms": 3, "pubends": 1, "guaranteed": {"answer_bytes": 5}}
    pb, sb = parse_scenario(changed(brokers=[broker, {"name": "sb"}])).brokers
    assert (pb.name, pb.disk_sync_ms) == ("pb", 3)
    assert pb.keys == {"pubends": 1, "guaranteed": {"answer_bytes": 5}}
    assert sb.keys == {}


def test_the_keys_of_a_reconfigured_broker_stand_beside_its_name() -> None:
    scenario = parse_scenario(fault(reconfigure={"broker": "pb", "pubends": 3}))
    change = scenario.faults[0].reconfigure
    assert change is not None
    assert (change.broker, change.keys) == ("pb", {"pubends": 3})
    assert (scenario.faults[0].kinds, scenario.faults[0].subject) == (["reconfigure"], "pb")


def test_a_publisher_may_use_a_pubend_that_a_later_configuration_adds() -> None:
    raw = publisher(pubend="pb.3")
    with pytest.raises(ScenarioError, match=r"there is no pubend at 'pb' 'pb\.3'"):
        parse_scenario(raw)
    parse_scenario({**raw, "faults": [{"at_s": 1, "reconfigure": {"broker": "pb", "pubends": 3}}]})


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (changed(durations=3), r"durations: unknown key; did you mean 'duration_s'\?"),
        (changed(duration_s=-1), r"duration_s: expected float > 0"),
        (changed(name="not a name"), r"name: 'not a name' is not a name"),
        (changed(brokers=[], links=[], clients=[]), r"brokers: a scenario needs brokers or client"),
        (changed(brokers={}), r"former form .*penstock scenario convert FILE"),
        (changed(brokers=[{"name": "p b"}]), r"brokers 'p b'\.name: 'p b' is not a name"),
        (changed(brokers=[{"name": "pb"}, {"name": "pb"}]), r"another broker has this name"),
        (changed(brokers=["pb"]), r"brokers\[0\]: expected a table, such as \[\[brokers\]\]"),
        (
            changed(brokers=[{"name": "pb", "pubend": 1}]),
            r"brokers\[0\]\.pubend: unknown key; did you mean 'pubends'\?",
        ),
        (
            changed(brokers=[{"name": "pb", "pubends": -1}]),
            r"brokers 'pb'\.pubends: expected int >= 0",
        ),
        (
            changed(brokers=[{"name": "pb", "guaranteed": {"answer_byte": 1}}]),
            r"brokers 'pb'\.guaranteed\.answer_byte: unknown key; did you mean 'answer_bytes'\?",
        ),
        (
            changed(brokers=[{"name": "pb", "pubends": ["x"]}, {"name": "sb", "pubends": ["x"]}]),
            r"brokers 'sb'\.pubends: 'x' is already hosted by 'pb'",
        ),
        (
            changed(links=[{"between": ["pb", "sc"]}]),
            r"links\[0\]\.between: there is no broker 'sc'; known are pb, sb",
        ),
        (changed(links=[{"between": ["pb", "pb"]}]), r"a link has two different ends"),
        (
            changed(links=[{"between": ["pb", "sb"]}, {"between": ["sb", "pb"]}]),
            r"links\[1\]\.between: sb and pb already have a link",
        ),
        (changed(links=[{"between": ["pb", "sb"], "los": 0.1}]), r"los: unknown key.*'loss'"),
        (
            changed(links=[{"between": ["pb", "sb"], "changes": [{"at_s": 1, "loss": 1}]}]),
            r"links\[0\]\.changes\[0\]\.loss: expected float < 1",
        ),
        (
            changed(cross_traffic=[{"name": "t", "between": ["pb", "xx"]}]),
            r"cross_traffic\[0\]\.between: there is no link pb - xx; there are: pb - sb",
        ),
        (
            changed(parameters={"guarantied": {}}),
            r"parameters\.guarantied: unknown key; did you mean 'guaranteed'\?",
        ),
        (
            changed(parameters={"guaranteed": {"answer_byte": 1}}),
            r"^parameters\.guaranteed\.answer_byte: unknown key; did you mean 'answer_bytes'\?",
        ),
        (
            changed(parameters={"guaranteed": {"congestion": {"law": "fancy"}}}),
            r"^parameters\.guaranteed\.congestion\.law: ",
        ),
    ],
)
def test_an_error_of_brokers_and_links_names_the_key_and_the_remedy(
    raw: dict[str, Any], told: str
) -> None:
    with pytest.raises(ScenarioError, match=told):
        parse_scenario(raw)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (changed(clients=["p"]), r"clients\[0\]: expected a table, such as \[\[clients\]\]"),
        (changed(clients=[{"name": "p"}]), r"clients\[0\]\.service: missing; known are"),
        (
            publisher(service="guarantee"),
            r"clients\[1\]\.service: there is no service 'guarantee'; did you mean 'guaranteed'\?",
        ),
        (
            publisher(role="publishers"),
            r"clients\[1\]\.role: guaranteed has no role 'publishers'; did you mean 'publisher'\?",
        ),
        (publisher(role=""), r"clients\[1\]\.role: missing; known are publisher, subscriber"),
        (publisher(group_of="g"), r"clients\[1\]\.group_of: unknown key; remove it"),
        (publisher(rate=1), r"clients\[1\]\.rate: unknown"),
        (publisher(broker=""), r"clients 'p'\.broker: missing; name the broker"),
        (publisher(broker="xx"), r"clients 'p'\.broker: there is no broker 'xx'; known are pb, sb"),
        (publisher(broker="sb"), r"clients 'p'\.broker: 'sb' hosts no pubend; set pubends there"),
        (publisher(pubend="pb.9"), r"clients 'p'\.pubend: there is no pubend at 'pb' 'pb\.9'"),
        (publisher(identity="tick"), r'clients \'p\'\.pubend: missing; identity = "tick" needs it'),
        (publisher(rate_msgs_per_s=0), r"set rate_msgs_per_s, or max_in_flight to"),
        (publisher(rate_msgs_per_s=[]), r"rate_msgs_per_s: a curve needs at least one point"),
        (
            publisher(rate_msgs_per_s=[[2, 5], [1, 5]]),
            r"rate_msgs_per_s: the points of a curve must be in the order of time",
        ),
        (publisher(rate_msgs_per_s=[[1, -5]]), r"rate_msgs_per_s\[0\]\[1\]: expected float >= 0"),
        (publisher(wire_bytes=9), r"wire_bytes = 9 is too small"),
        (publisher(attributes={"n": "cycle:x"}), r"needs a range"),
        (subscriber(selector="n ="), r"clients 's'\.selector: "),
        (subscriber(name="p"), r"clients 'p'\.name: another client has this name"),
        (subscriber(name="a b"), r"clients 'a b'\.name: 'a b' is not a name"),
        (subscriber(start_s=2, stop_s=1), r"clients 's'\.stop_s: must be later than the start"),
        (subscriber(stop_s=1, count=3, start_every_s=1), r"clients 's'\.stop_s: must be later"),
        (subscriber(stop_s=1, start_within_s=2), r"clients 's'\.stop_s: must be later"),
    ],
)
def test_an_error_of_clients_names_the_key_and_the_remedy(raw: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        parse_scenario(raw)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (fault(), r"faults\[0\]: set exactly one of cut, mend"),
        (fault(crash="pb", restart="pb"), r"faults\[0\]: set exactly one of cut, mend"),
        (fault(crash="xx"), r"faults\[0\]\.crash: there is no broker 'xx'"),
        (
            fault(cut=["sb", "xx"]),
            r"cut: there is no link sb - xx; there are: pb - sb",
        ),
        (
            fault(bandwidth={"link": ["sb", "xx"], "bytes_per_s": 1}),
            r"faults\[0\]\.bandwidth: there is no link sb - xx",
        ),
        (fault(leave="q"), r"faults\[0\]\.leave: there is no client 'q'"),
        (
            fault(close="p"),
            r"faults\[0\]\.close: 'p' cannot be closed and opened again; none is known here",
        ),
        (fault(close="s"), r"faults\[0\]\.close: 's' cannot be closed and opened again"),
        (
            fault(pause={"broker": "xx", "for_s": 1}),
            r"faults\[0\]\.pause\.broker: there is no broker 'xx'",
        ),
        (
            fault(pause={"broker": "pb", "for_s": 1, "every_s": 0.5}),
            r"faults\[0\]\.pause\.every_s: 0\.5 s is not longer than the pause of 1 s",
        ),
        (
            fault(reconfigure={"broker": "xx", "pubends": 1}),
            r"faults\[0\]\.reconfigure\.broker: there is no broker 'xx'",
        ),
        (
            fault(reconfigure={"broker": "pb", "pubend": 1}),
            r"faults\[0\]\.reconfigure\.pubend: unknown key; did you mean 'pubends'\?",
        ),
        (
            fault(reconfigure={"broker": "pb", "pubends": -1}),
            r"faults\[0\]\.reconfigure: .*pubends: expected int >= 0",
        ),
        (changed(expect=[{"metric": "lost"}]), r"expect\[0\]: set at_most or at_least"),
        (
            changed(expect=[{"metric": "lots", "at_most": 0}]),
            r"expect\[0\]\.metric: there is no metric 'lots'; did you mean 'lost'\?",
        ),
        (
            changed(
                expect=[{"metric": "delivered", "at_most": 0, "divided_by": {"metric": "lots"}}]
            ),
            r"expect\[0\]\.divided_by\.metric: there is no metric 'lots'",
        ),
    ],
)
def test_an_error_of_faults_and_expectations_names_the_key_and_the_remedy(
    raw: dict[str, Any], told: str
) -> None:
    with pytest.raises(ScenarioError, match=told):
        parse_scenario(raw)


def test_a_durable_subscription_can_be_closed() -> None:
    parse_scenario(
        {
            **subscriber(durable=True),
            "faults": [{"at_s": 1, "close": "s"}, {"at_s": 2, "reopen": "s"}],
        }
    )


def test_a_random_start_may_lie_as_late_as_the_stop_allows() -> None:
    parse_scenario(
        subscriber(count=3, stop_s=2, stop_every_s=1, start_every_s=1, start_within_s=1.9)
    )


def test_a_file_is_named_in_its_errors_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("name = ")
    with pytest.raises(ScenarioError, match=r"bad\.toml:1: not TOML"):
        load_scenario(path)
    path.write_text('name = "x"\nduration_s = 1\n[[brokers]]\nname = "b"\npubend = 1\n')
    with pytest.raises(ScenarioError, match=r"bad\.toml:5: brokers\[0\]\.pubend: unknown key"):
        load_scenario(path)
    with pytest.raises(ScenarioError, match=r"none\.toml: cannot be read: No such file"):
        load_scenario(tmp_path / "none.toml")


def test_an_error_of_a_counted_link_names_its_table() -> None:
    links = [{"between": ["pb", "sb"], "count": 1}, {"between": ["pb", "x{i}"], "count": 3}]
    with pytest.raises(ScenarioError, match=r"^links\[1\]\.between: there is no broker 'x0'"):
        parse_scenario(changed(links=links))
    links = [{"between": ["pb", "{i}"], "count": 3}, {"between": ["pb", "pb"]}]
    brokers = [*GOOD["brokers"], {"name": "{i}", "count": 3}]
    with pytest.raises(ScenarioError, match=r"^links\[1\]\.between: a link has two different"):
        parse_scenario(changed(links=links, brokers=brokers))
