"""Episodes of edges that were behind, and what limited publishers, on rows with a known answer."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.core.clock import SECOND
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.rate_law import AlertReading, Verdict
from penstock.services.guaranteed.source.publisher_control import PublisherControl
from penstock.services.guaranteed.source.throttle_cause import throttle_cause
from penstock.services.guaranteed.telemetry import throttle_record
from penstock.spark.lake.frame import SCHEMA
from penstock.spark.report.causes import bottlenecks, recoveries

pytestmark = pytest.mark.xdist_group("spark")


def frame(spark: SparkSession, rows: list[tuple[float, str, str, str, float, str]]) -> DataFrame:
    """Rows at (second, node, subject, metric, value, detail)."""
    full = [
        (round(at_s * SECOND), node, subject, metric, float(value), detail, "r", "1970-01-01")
        for at_s, node, subject, metric, value, detail in rows
    ]
    return spark.createDataFrame(full, SCHEMA)


def collected(rows: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in rows.collect()]


def test_a_recovery_runs_from_the_furthest_point_to_the_first_that_has_caught_up(
    spark: SparkSession,
) -> None:
    lags = [0.5, 1, 2.5, 3.5, 4.5, 4.0, 3.0, 1.5, 1, 0.5, 3, 5]
    rows = [(at, "sb", "p", "doubt_horizon_lag_s", lag, "") for at, lag in enumerate(lags)]
    # Another stream of the same edge is worse for a moment: the worst one counts.
    rows += [(7, "sb", "q", "doubt_horizon_lag_s", 2.2, "")]
    first, second = collected(recoveries(frame(spark, rows)))
    assert first == {
        "run": "r",
        "broker": "sb",
        "from_s": 2.0,
        "furthest_s": 4.5,
        "recovery_s": 4.0,
    }
    assert (second["from_s"], second["furthest_s"], second["recovery_s"]) == (10.0, 5.0, None)


def test_a_recovery_begins_with_the_repair_where_the_run_tells_of_one(spark: SparkSession) -> None:
    lags = [0, 2.5, 3.5, 4.5, 5, 5.5, 5.2, 1]
    rows = [(at, "sb", "p", "doubt_horizon_lag_s", lag, "") for at, lag in enumerate(lags)]
    rows += [(0.5, "run", "ib-sb", "fault", 1, "cut"), (3.5, "run", "ib-sb", "fault", 1, "mend")]
    rows += [(7.5, "run", "ib-sb", "fault", 1, "mend")]
    (found,) = collected(recoveries(frame(spark, rows)))
    assert (found["furthest_s"], found["recovery_s"]) == (5.5, 3.5)


def test_edges_that_keep_up_have_no_episode(spark: SparkSession) -> None:
    rows = [(at, "sb", "p", "doubt_horizon_lag_s", 2.0, "") for at in range(5)]
    assert collected(recoveries(frame(spark, rows))) == []


def throttle(at_s: float, pubend: str, limit: float, *worst: Any, recovering: bool = False) -> Any:
    """A change of a limit as the service itself records it; ``worst`` is what an alert reads."""
    control = PublisherControl(pubend, CongestionParameters(), 0, 0.0)
    if worst:
        control.cause = throttle_cause(Verdict(AlertReading(*worst), recovering=recovering))
    control.admission.set_rate(limit or None, 0)
    record = throttle_record("pb", control, round(at_s * SECOND))
    return at_s, record.node, record.subject, record.metric, record.value, record.detail


def test_seconds_under_a_limit_are_put_down_to_the_broker_and_link_of_its_cause(
    spark: SparkSession,
) -> None:
    slow = (0.5, "sb1", 0.5, 0, "ib->sb1", 900)
    rows = [
        throttle(0, "p.1", 100, *slow),
        throttle(4, "p.1", 50, *slow),
        throttle(10, "p.1", 0),
        throttle(5, "p.2", 80, 1.5, "sb2", 1.5, 0, recovering=True),
        (20.0, "pb", "p.1", "published_messages", 1.0, ""),
    ]
    first, second = collected(bottlenecks(frame(spark, rows)))
    assert (first["broker"], first["link"], first["limited_s"]) == ("sb2", "", 15.0)
    assert (second["broker"], second["link"], second["limited_s"]) == ("sb1", "ib->sb1", 10.0)
    assert (second["decisions"], second["pubends"], second["lowest_msgs_per_s"]) == (2, 1, 50.0)
    assert first["share"] == 15 / 25


def test_a_record_of_an_earlier_version_has_an_unknown_cause(spark: SparkSession) -> None:
    old = "match the slowest edge: broker sb1 falls behind at 0.50 ticks/tick"
    rows = [(0.0, "pb", "p", "throttle", 50.0, old), (4.0, "pb", "p", "log_bytes", 1.0, "")]
    (found,) = collected(bottlenecks(frame(spark, rows)))
    assert (found["broker"], found["link"], found["limited_s"]) == ("", "", 4.0)
