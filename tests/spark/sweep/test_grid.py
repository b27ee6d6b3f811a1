"""The points of a sweep; every error is found before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.lab.scenario.error import ScenarioError
from penstock.spark.sweep.grid import SweepError, build_grid, parse_parameter
from penstock.spark.sweep.measures import MEASURES

pytestmark = pytest.mark.xdist_group("spark")

SCENARIO = """
name = "small"
duration_s = 3
[[brokers]]
name = "a"
pubends = 1
[[brokers]]
name = "b"
[[links]]
between = ["a", "b"]
[[clients]]
service = "guaranteed"
role = "subscriber"
name = "s"
broker = "b"
[[clients]]
service = "guaranteed"
role = "publisher"
name = "p"
broker = "a"
rate_msgs_per_s = 20
[[faults]]
at_s = 1
cut = ["a", "b"]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    written = tmp_path / "small.toml"
    written.write_text(SCENARIO)
    return written


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("x=1:5:1", [1, 2, 3, 4, 5]),
        ("x=0.1:0.5:0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("x=-0.2:0.2:0.2", [-0.2, 0.0, 0.2]),
        ("x=1:2:0.75", [1.0, 1.75]),
        ("x=a,b", ["a", "b"]),
        ("x=true,false", [True, False]),
        ("x=1,2.5,three", [1, 2.5, "three"]),
        ("x=7", [7]),
    ],
)
def test_values_are_lists_and_ranges(text: str, values: list[Any]) -> None:
    name, found = parse_parameter(text)
    assert name == "x"
    assert found == values
    assert [type(each) for each in found] == [type(each) for each in values]


@given(st.integers(-50, 50), st.integers(0, 40), st.integers(1, 9))
def test_a_range_of_integers_equals_that_of_python(first: int, length: int, step: int) -> None:
    _, found = parse_parameter(f"x={first}:{first + length}:{step}")
    assert found == list(range(first, first + length + 1, step))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x", "write PATH=a,b,c or PATH=first:last:step"),
        ("=1", "write PATH="),
        ("x=", "write PATH="),
        ("x=1:2", "first:last:step, three numbers"),
        ("x=a:b:c", "three numbers"),
        ("x=1:5:0", "the step must be positive"),
        ("x=5:1:1", "the last not before the first"),
        ("x=1:nan:1", "the step must be positive"),
        ("x=0:1:0.00001", "at most 10000 runs"),
        ("x=1,1", "given twice"),
        ("x=1,,2", "empty"),
    ],
)
def test_an_invalid_parameter_is_refused(text: str, told: str) -> None:
    with pytest.raises(SweepError, match=told):
        parse_parameter(text)


def test_the_points_are_all_combinations(path: Path) -> None:
    grid = build_grid(path, ["duration_s=2:4:1", "congestion.law=paper,improved"])
    assert len(grid.points) == 6
    assert grid.points[0] == {"duration_s": 2, "congestion.law": "paper"}
    assert grid.scenario(grid.points[5]).duration_s == 4
    parameters = grid.scenario(grid.points[0]).parameters
    assert parameters["guaranteed"]["congestion"]["law"] == "paper"


def test_without_parameters_there_is_one_point(path: Path) -> None:
    assert build_grid(path, []).points == [{}]


def test_tables_are_chosen_by_name_by_ends_and_by_number(path: Path) -> None:
    grid = build_grid(
        path,
        [
            "links.a-b.bandwidth_bytes_per_s=5000",
            "clients.p.rate_msgs_per_s=7",
            "clients.0.durable=true",
            "faults.0.at_s=2.5",
            "brokers.b.disk_sync_ms=4",
            "brokers.a.pubends=3",
            "guaranteed.nack_unit_ns=1000000",
        ],
    )
    (point,) = grid.points
    scenario = grid.scenario(point)
    assert scenario.links[0].bandwidth_bytes_per_s == 5000
    assert scenario.clients[1].rate_msgs_per_s == 7
    assert scenario.clients[0].durable is True
    assert scenario.faults[0].at_s == 2.5
    assert scenario.broker("b").disk_sync_ms == 4
    assert scenario.broker("a").keys == {"pubends": 3}
    assert scenario.parameters == {"guaranteed": {"nack_unit_ns": 1_000_000}}
    assert grid.raw["clients"][1]["rate_msgs_per_s"] == 20


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("duratoin_s=3", "duratoin_s: unknown key; did you mean 'duration_s'"),
        ("duration_s=0:2:1", "duration_s=0: duration_s: expected float > 0"),
        ("congestion.law=paper,fancy", "fancy"),
        ("congestion.thresholds=1", "congestion.thresholds: unknown key"),
        ("links.a-c.loss=0.1", "there is no 'a-c'; there are: a-b"),
        ("links.1.loss=0.1", "there is no '1'"),
        ("faults.3.at_s=1", "there is no '3'; there are: 0 to 0"),
        ("clients=3", "clients: expected a list of tables"),
        ("clients.p=3", "name one table and a key"),
        ("duration_s.x=3", "'duration_s' is a value, not a table"),
        ("clients.s.broker=b,c", "there is no broker 'c'"),
    ],
)
def test_an_invalid_point_is_refused_with_its_parameter(path: Path, text: str, told: str) -> None:
    with pytest.raises(SweepError, match=rf"--param .*{told}"):
        build_grid(path, [text])


def test_a_parameter_is_given_once(path: Path) -> None:
    with pytest.raises(SweepError, match="given twice"):
        build_grid(path, ["duration_s=1", "duration_s=2"])


ROOT = Path(__file__).parents[3]
SHIPPED = {
    path.stem: path
    for folder in ("scenarios", "src/penstock/papers/*/scenarios")
    for path in sorted(ROOT.glob(f"{folder}/*.toml"))
}


@pytest.mark.parametrize(
    ("file", "texts", "services"),
    [
        (
            "gossip-dynamic",
            ["parameters.gossip.buffer_events=60:120:30", "clients.steady.payload_bytes=16,32"],
            ("gossip",),
        ),
        ("multicast-1", ["links.B-D.latency_ms=1:6:1", "clients.acfg.count=5"], ("multicast",)),
        ("gryphon-e4", ["congestion.law=paper,improved", "faults.1.at_s=20:22:1"], ("guaranteed",)),
    ],
)
def test_files_of_every_service_have_points(
    file: str, texts: list[str], services: tuple[str, ...]
) -> None:
    grid = build_grid(SHIPPED[file], texts)
    assert len(grid.points) == 6
    assert grid.services == services
    assert grid.name == file


def test_a_value_in_a_list_is_replaced(path: Path) -> None:
    path.write_text(SCENARIO.replace("rate_msgs_per_s = 20", "rate_msgs_per_s = [[0, 1], [2, 9]]"))
    grid = build_grid(path, ["clients.p.rate_msgs_per_s.1.1=5"])
    publisher = grid.scenario(grid.points[0]).clients[1]
    assert [point.value for point in publisher.rate_msgs_per_s] == [1, 5]


def test_the_expectations_of_a_scenario_are_measures(path: Path) -> None:
    expected = (
        '[[expect]]\nmetric = "delivered"\nname = "rows"\nat_least = 1\nwhy = "some arrive"\n'
        '[[expect]]\nmetric = "delay_s"\naggregate = "p99"\nat_most = 1\n'
    )
    path.write_text(SCENARIO + expected)
    measures = build_grid(path, []).measures()
    assert next(iter(measures)) == "recovery_s"
    assert measures["rows"] == "some arrive"
    assert set(measures) == {*MEASURES, "rows", "p99 delay_s"}


def test_the_first_measure_of_another_service_is_its_own(path: Path) -> None:
    path.write_text(
        'name = "peers"\nduration_s = 5\n[[clients]]\nservice = "gossip"\nname = "p"\ncount = 3\n'
        '[[expect]]\nmetric = "receivers"\naggregate = "mean"\nat_least = 0\n'
    )
    assert next(iter(build_grid(path, []).measures())) == "mean receivers"


def test_every_shipped_scenario_can_be_swept() -> None:
    assert len(SHIPPED) > 20
    for name, path in SHIPPED.items():
        grid = build_grid(path, [])
        assert grid.points == [{}], name
        assert grid.name == name


def test_a_file_of_a_former_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "queues.toml"
    path.write_text('service = "queues"\nname = "x"\n')
    with pytest.raises(ScenarioError, match=r"queues\.toml:1: service: .*scenario convert"):
        build_grid(path, [])
