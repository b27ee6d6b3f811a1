"""A report on simulated runs agrees with the lab's measurements without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.measure import measure
from penstock.lab.telemetry.run_records import run_name, run_records
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.worlds.sim import SimRun
from penstock.spark.lake.lake import create_lake
from penstock.spark.lake.writer import RunLanding
from penstock.spark.report.build import build_report, matching_runs
from penstock.spark.report.page import page
from penstock.spark.report.report import Report
from penstock.spark.report.tables import Table, tables
from penstock.spark.tables.table import TableError

pytestmark = pytest.mark.xdist_group("spark")

SCENARIO: dict[str, Any] = {
    "name": "thin",
    "duration_s": 24,
    "brokers": [{"name": "pb", "pubends": 2}, {"name": "sb"}],
    "links": [{"between": ["pb", "sb"], "bandwidth_bytes_per_s": 20_000}],
    "clients": [
        {"service": "guaranteed", "role": "subscriber", "name": "s", "broker": "sb"},
        {
            "service": "guaranteed",
            "role": "publisher",
            "name": "p",
            "count": 2,
            "broker": "pb",
            "pubend": "pb.{i+1}",
            "rate_msgs_per_s": 40,
            "wire_bytes": 366,
            "max_in_flight": 50,
        },
    ],
    "faults": [{"at_s": 5, "cut": ["pb", "sb"]}, {"at_s": 12, "mend": ["pb", "sb"]}],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[RunResult]]:
    """Two seeds, landed in a lake."""
    lake = create_lake(tmp_path_factory.mktemp("lake") / "lake")
    scenario = parse_scenario(SCENARIO)
    results = []
    for seed in (1, 2):
        with RunLanding(lake, run_name("thin", "sim", seed)) as landing:
            results.append(run(SimRun(scenario, seed, Telemetry(landing))))
            landing.commit(run_records(results[-1]))
    return lake.path, results


@pytest.fixture(scope="module")
def report(spark: SparkSession, runs: tuple[Path, list[RunResult]]) -> Report:
    lake = create_lake(runs[0])
    snapshot = lake.snapshot()
    return build_report(spark, lake, snapshot, matching_runs(lake, snapshot, ["thin-sim-*"]))


def test_spark_and_the_lab_agree(report: Report, runs: tuple[Path, list[RunResult]]) -> None:
    result, summary = runs[1][0], report.runs[0]

    def ask(metric: str, **narrowed: Any) -> float:
        return measure(result, Measurement(metric=metric, **narrowed))

    assert summary.run == "thin-sim-1"
    published = ask("published_messages", aggregate="increase")
    assert summary.published_msgs_per_s * summary.seconds == pytest.approx(published)
    delivered = ask("delivered_messages", aggregate="increase")
    assert summary.delivered_msgs_per_s * summary.seconds == pytest.approx(delivered)
    (rate,) = [each for each in report.rates if each.run == summary.run and each.subject == "s"]
    assert rate.mean_msgs_per_s == pytest.approx(ask("delivered_messages", aggregate="rate"))
    assert summary.most_queued_bytes == ask("queue_bytes")
    assert summary.dropped_messages == ask("dropped_messages", aggregate="increase")
    (link,) = [each for each in report.links if each.run == summary.run and each.link == "pb->sb"]
    sent = ask("link_bytes", subject="pb->sb")
    assert link.sent_bytes == sent
    assert link.utilisation == pytest.approx(ask("link_rate", subject="pb->sb") / 20_000)
    assert (summary.lost, summary.duplicated) == (result.judgement["lost"], 0)


def test_the_outage_and_its_cause_are_found(report: Report) -> None:
    assert [(fault.at_s, fault.kind) for fault in report.faults[:2]] == [
        (5.0, "cut"),
        (12.0, "mend"),
    ]
    own = [each for each in report.recoveries if each.run == "thin-sim-1"]
    deepest = max(own, key=lambda each: each.furthest_s)
    assert deepest.broker == "sb"
    assert deepest.from_s == pytest.approx(7, abs=1.1)
    # Nobody holds the publishers back during the outage of 7 s; the thin link needs ten seconds for
    # what they publish in it, and carries live data as well.
    assert 5.9 <= deepest.furthest_s <= 28
    assert {(each.broker, each.link) for each in report.bottlenecks} <= {
        ("sb", "pb->sb"),
        ("sb", ""),
    }
    assert report.runs[0].bottleneck == "pb->sb at sb"


def test_facts_come_from_the_run_itself(report: Report) -> None:
    facts = report.runs[1].facts
    assert facts is not None
    assert (facts.scenario, facts.world, facts.seed) == ("thin", "sim", 2)


def test_the_area_under_a_curve_is_the_number_of_published_messages(
    report: Report, runs: tuple[Path, list[RunResult]]
) -> None:
    points = [
        point
        for point in report.series
        if point.run == "thin-sim-1" and point.metric == "published_messages"
    ]
    total = measure(runs[1][0], Measurement(metric="published_messages", aggregate="increase"))
    assert sum(2 * point.value for point in points) == pytest.approx(total, rel=0.1)


def test_tables_and_page_show_every_run(report: Report) -> None:
    made = tables(report)
    assert [table.title for table in made][:3] == [
        "Runs",
        "Compared with thin-sim-1",
        "What slowed the publishers down",
    ]
    assert all(len(row) == len(table.columns) for table in made for row in table.rows)
    html = page(report)
    for name in ("thin-sim-1", "thin-sim-2", "Links", "Queues and buffers"):
        assert name in html
    assert html.count("<svg") == html.count("</svg>") == 5
    assert "http://www.w3.org" in html
    assert 'src="' not in html
    assert page(report) == html


def test_the_tables_of_one_run_do_not_repeat_its_name(report: Report) -> None:
    alone = msgspec.structs.replace(report, runs=report.runs[:1])
    summary, *details = tables(alone)
    assert summary.columns[0] == ("run", False)
    assert all(table.columns[0] != ("run", False) for table in details)
    assert all(len(row) == len(table.columns) for table in details for row in table.rows)


def test_names_are_escaped_in_the_page(report: Report) -> None:
    first = msgspec.structs.replace(report.runs[0], run="<script>alert(1)</script>")
    html = page(msgspec.structs.replace(report, runs=[first, report.runs[1]], series=[], links=[]))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_report_round_trips_through_json(report: Report) -> None:
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report


def test_many_runs_are_one_line_each(report: Report) -> None:
    many = [msgspec.structs.replace(report.runs[0], run=f"r{number}") for number in range(70)]
    made = tables(msgspec.structs.replace(report, runs=many))
    assert [table.title for table in made] == ["Runs", "Compared with r0"]
    summary: Table = made[0]
    assert len(summary.rows) == 60
    assert summary.note.startswith("10 more rows")


def test_a_pattern_without_a_match_is_refused(runs: tuple[Path, list[RunResult]]) -> None:
    lake = create_lake(runs[0])
    snapshot = lake.snapshot()
    assert matching_runs(lake, snapshot, ["thin-sim-2", "*"]) == ["thin-sim-2", "thin-sim-1"]
    with pytest.raises(TableError, match="no run 'fat-\\*'; there are: thin-sim-1, thin-sim-2"):
        matching_runs(lake, snapshot, ["fat-*"])
