"""The lake's runs and days."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.spark.lake.lake import (
    chosen_runs,
    create_lake,
    drop,
    files_of_runs,
    open_lake,
    runs_of,
)
from penstock.spark.lake.writer import RunLanding, day_of
from penstock.spark.tables.table import OpenTable, TableError

DAY_S = 86_400


def land(lake: OpenTable, run: str, *instants_s: int) -> None:
    with RunLanding(lake, run) as landing:
        for at_s in instants_s:
            landing.add(TraceRecord(at_s * SECOND, "b", "p", "m", at_s, ""))
        landing.commit()


def rows(lake: OpenTable) -> list[tuple[str, float]]:
    """Every visible row."""
    found = lake.snapshot().delta.to_pyarrow_table(columns=["run", "value"])
    return sorted((row["run"], row["value"]) for row in found.to_pylist())


@pytest.fixture
def lake(tmp_path: Path) -> OpenTable:
    return create_lake(tmp_path / "lake")


def test_a_run_lands_in_the_folders_of_its_days(lake: OpenTable) -> None:
    land(lake, "long", 10, DAY_S - 1, DAY_S, 2 * DAY_S + 5)
    files = lake.snapshot().files.values()
    assert sorted((each.partition["day"], each.rows) for each in files) == [
        ("1970-01-01", 2),
        ("1970-01-02", 1),
        ("1970-01-03", 1),
    ]
    first = [each for each in files if each.partition["day"] == "1970-01-01"]
    assert {(each.low_ns, each.high_ns) for each in first} == {(10 * SECOND, (DAY_S - 1) * SECOND)}
    assert not list((lake.path / "_staging").iterdir())


def test_a_run_that_is_landed_again_replaces_itself(lake: OpenTable) -> None:
    land(lake, "a", 1, 2)
    land(lake, "b", 3)
    land(lake, "a", 4)
    assert rows(lake) == [("a", 4.0), ("b", 3.0)]


def test_a_run_that_is_not_committed_lands_nothing(lake: OpenTable) -> None:
    with RunLanding(lake, "a") as landing:
        landing.add(TraceRecord(1, "b", "p", "m", 1.0))
    assert lake.snapshot().files == {}
    assert not list((lake.path / "_staging").iterdir())


def test_runs_and_days_are_dropped(lake: OpenTable) -> None:
    land(lake, "a / b", 1, DAY_S + 1, 3 * DAY_S + 1)
    land(lake, "b", 2, 3 * DAY_S + 2)
    dropped = drop(lake, ["a / b"], date(1970, 1, 2))
    assert [file.partition for file in dropped] == [{"run": "a / b", "day": "1970-01-01"}]
    drop(lake, [], date(1970, 1, 3))
    assert rows(lake) == [("a / b", 3.0 * DAY_S + 1), ("b", 3.0 * DAY_S + 2)]
    drop(lake, ["b"], None)
    assert rows(lake) == [("a / b", 3.0 * DAY_S + 1)]
    with pytest.raises(TableError, match="there is no run 'b'; there are: a / b"):
        drop(lake, ["b"], None)
    assert drop(lake, [], date(1970, 1, 1)) == []


def test_an_unknown_run_is_refused_with_a_list_of_runs(lake: OpenTable) -> None:
    for number in range(25):
        land(lake, f"r{number:02}", 1)
    snapshot = lake.snapshot()
    assert chosen_runs(lake, snapshot, ["r03", "r01", "r03"]) == ["r03", "r01"]
    assert [file.rows for file in files_of_runs(snapshot, ["r03", "r01"])] == [1, 1]
    assert len(runs_of(snapshot)) == 25
    with pytest.raises(TableError, match=r"no run 'x'; there are: r00, r01, .*r19 and 5 more"):
        chosen_runs(lake, snapshot, ["x"])


def test_a_directory_that_is_no_lake_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"no table.*`penstock lake --path .*creates a lake"):
        open_lake(tmp_path / "nowhere")
    (tmp_path / "lake.json").write_text('{"penstock_lake": 1}')
    for opening in (create_lake, open_lake):
        with pytest.raises(TableError, match="penstock lake convert --path"):
            opening(tmp_path)


@given(st.integers(0, 2**62))
def test_a_day_begins_at_midnight_in_utc(at: int) -> None:
    later = (at // (DAY_S * SECOND) + 1) * DAY_S * SECOND
    assert day_of(later - 1) < day_of(later)
    assert day_of(at) == day_of(later - 1)
