from __future__ import annotations

import tomllib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.lab.scenario.curve import CurvePoint
from penstock.lab.scenario.file import parse_scenario, read_scenario
from penstock.lab.scenario.model import (
    Access,
    BandwidthChange,
    Broker,
    CrossTraffic,
    Expectation,
    Fault,
    Link,
    LinkChange,
    Measurement,
    PeerNetwork,
    Reconfiguration,
    Scenario,
)
from penstock.lab.scenario.numbering import expanded
from penstock.lab.scenario.random_scenario import random_scenario
from penstock.lab.scenario.write import to_tables, to_toml
from penstock.lab.service import lab_services

SERVICES = sorted(lab_services())


def read_back(scenario: Scenario) -> Scenario:
    return read_scenario(tomllib.loads(to_toml(scenario)))


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("seed", range(20))
def test_a_random_scenario_reads_back_equal(service: str, seed: int) -> None:
    scenario = random_scenario(seed, (service,))
    assert parse_scenario(tomllib.loads(to_toml(scenario))) == scenario


@pytest.mark.parametrize("seed", range(5))
def test_a_mixture_of_all_services_reads_back_equal(seed: int) -> None:
    scenario = random_scenario(seed, SERVICES)
    assert parse_scenario(tomllib.loads(to_toml(scenario))) == scenario


# -- any values ------------------------------------------------------------------------------------

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
seconds = st.floats(0, 1e9)
maybe_seconds = st.none() | seconds
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
whole = st.integers(0, 2**62)
counts = st.integers(1, 2**62)
shares = st.floats(0, 1, exclude_max=True)
numbers = st.none() | st.floats(allow_nan=False)
pairs = st.tuples(names, names)
keys = st.dictionaries(
    st.sampled_from(["pubends", "guaranteed"]),
    st.integers(0, 9) | st.lists(names, max_size=3) | st.dictionaries(names, names, max_size=3),
)
links = st.builds(
    Link,
    between=pairs,
    count=st.integers(1, 1_000_000),
    bandwidth_bytes_per_s=whole,
    latency_ms=seconds,
    queue_bytes=counts,
    loss=shares,
    cost=counts,
    changes=st.lists(
        st.builds(
            LinkChange,
            at_s=seconds,
            bandwidth_bytes_per_s=st.none() | whole,
            loss=st.none() | shares,
        ),
        max_size=3,
    ).map(tuple),
)
faults = (
    st.builds(Fault, at_s=seconds, cut=pairs)
    | st.builds(Fault, at_s=seconds, crash=names)
    | st.builds(
        Fault,
        at_s=seconds,
        bandwidth=st.builds(BandwidthChange, link=pairs, bytes_per_s=whole),
    )
    | st.builds(
        Fault, at_s=seconds, reconfigure=st.builds(Reconfiguration, broker=names, keys=keys)
    )
)
windows = {
    "metric": names,
    "service": names,
    "subject": names,
    "node": names,
    "from_s": seconds,
    "to_s": maybe_seconds,
    "aggregate": st.sampled_from([None, "max", "rate", "until_at_most_s"]),
    "threshold": numbers,
}
expectations = st.builds(
    Expectation,
    **windows,
    at_most=numbers,
    at_least=numbers,
    divided_by=st.none() | st.builds(Measurement, **windows),
    why=names,
)
scenarios = st.builds(
    Scenario,
    name=names,
    duration_s=positive,
    description=names,
    drain_s=seconds,
    parameters=keys,
    brokers=st.lists(
        st.builds(Broker, name=names, count=st.integers(1, 9), start_s=seconds, keys=keys),
        max_size=3,
    ).map(tuple),
    links=st.lists(links, max_size=3).map(tuple),
    peer_network=st.builds(PeerNetwork, latency_ms=seconds, loss=shares),
    cross_traffic=st.lists(
        st.builds(CrossTraffic, name=names, between=pairs, start_s=seconds, stop_s=maybe_seconds),
        max_size=2,
    ).map(tuple),
    faults=st.lists(faults, max_size=4).map(tuple),
    expect=st.lists(expectations, max_size=3).map(tuple),
)


@settings(deadline=None)
@given(scenarios)
def test_any_scenario_without_clients_reads_back_equal(scenario: Scenario) -> None:
    assert read_back(scenario) == scenario


points = st.lists(st.builds(CurvePoint, at_s=seconds, value=seconds), max_size=4).map(tuple)
attributes = st.dictionaries(
    names, names | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5), max_size=3
)


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "name": names,
            "broker": names,
            "count": st.integers(1, 9),
            "stop_s": maybe_seconds,
            "access": st.none() | st.builds(Access, jitter_ms=seconds),
            "rate_msgs_per_s": seconds | points,
            "attributes": attributes,
        }
    )
)
def test_any_publisher_reads_back_equal(values: dict[str, object]) -> None:
    role = lab_services()["guaranteed"].roles["publisher"]
    client = role(service="guaranteed", role="publisher", **values)  # type: ignore[arg-type]
    scenario = Scenario(name="s", duration_s=1.0, clients=(client,))
    (read,) = read_back(scenario).clients
    assert read == client
    kinds = [type(each) for each in read.attributes.values()]
    assert kinds == [type(each) for each in client.attributes.values()]  # type: ignore[attr-defined]


# -- the form --------------------------------------------------------------------------------------


def test_defaults_are_left_out_and_a_brokers_keys_stand_beside_its_others() -> None:
    scenario = Scenario(
        name="small",
        duration_s=5.0,
        brokers=(Broker(name="a", keys={"pubends": 2}), Broker(name="b", start_s=1.5)),
        links=(Link(between=("a", "b"), bandwidth_bytes_per_s=200_000),),
        faults=(
            Fault(at_s=2.0, reconfigure=Reconfiguration(broker="a", keys={"pubends": 3})),
            Fault(at_s=3.0, cut=("a", "b")),
        ),
        expect=(
            Expectation(
                metric="delivered", at_least=1.0, divided_by=Measurement(metric="submitted")
            ),
        ),
    )
    assert (
        to_toml(scenario)
        == """\
name = "small"
duration_s = 5

[[brokers]]
name = "a"
pubends = 2

[[brokers]]
name = "b"
start_s = 1.5

[[links]]
between = ["a", "b"]
bandwidth_bytes_per_s = 200_000

[[faults]]
at_s = 2
reconfigure = { broker = "a", pubends = 3 }

[[faults]]
at_s = 3
cut = ["a", "b"]

[[expect]]
metric = "delivered"
at_least = 1
divided_by = { metric = "submitted" }
"""
    )


def test_what_numbering_sets_is_not_written() -> None:
    scenario = random_scenario(1)
    several = tuple(msgspec.structs.replace(each, count=2) for each in scenario.clients)
    single = expanded(msgspec.structs.replace(scenario, clients=several))
    tables = to_tables(single)
    assert len(tables["clients"]) == 2 * len(scenario.clients)
    assert not any("group_of" in each for each in tables["clients"])
