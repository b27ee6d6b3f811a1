"""Rates, links, queues and fairness, on rows with known results."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.core.clock import SECOND
from penstock.spark.lake.frame import SCHEMA
from penstock.spark.report.rates import fairness, links, queues, rates
from penstock.spark.report.series import series

pytestmark = pytest.mark.xdist_group("spark")

Sample = tuple[float, str, str, float]


def frame(spark: SparkSession, samples: list[Sample], run: str = "r") -> DataFrame:
    """Rows at (second, subject, metric, value)."""
    rows = [
        (round(at_s * SECOND), "b", subject, metric, float(value), "", run, "1970-01-01")
        for at_s, subject, metric, value in samples
    ]
    return spark.createDataFrame(rows, SCHEMA)


def collected(rows: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in rows.collect()]


def test_a_rate_is_the_sum_of_steps_over_time_and_a_restart_is_no_decrease(
    spark: SparkSession,
) -> None:
    values = [0, 10, 20, 5, 15]
    samples = [(at, "p", "published_messages", value) for at, value in enumerate(values)]
    samples += [(at, "q", "published_messages", 7.0) for at in range(5)]
    first, second = collected(rates(frame(spark, samples)))
    assert (first["subject"], first["messages"], first["mean_msgs_per_s"]) == ("p", 35.0, 35 / 4)
    assert first["peak_msgs_per_s"] == 35 / 5
    assert (second["subject"], second["messages"]) == ("q", 0.0)


def test_measurements_close_together_do_not_make_a_peak(spark: SparkSession) -> None:
    instants = [0, 1, 2, 3, 3.001, 4, 5, 6]
    samples = [(at, "p", "published_messages", 10.0 * at) for at in instants]
    (found,) = collected(rates(frame(spark, samples)))
    assert found["peak_msgs_per_s"] == pytest.approx(10.0, rel=0.21)


def test_measurements_of_one_instant_give_no_rate(spark: SparkSession) -> None:
    samples = [(1, "p", "published_messages", 1.0), (1, "p", "published_messages", 5.0)]
    samples += [(1, "a->b", "sent_bytes", 1.0), (1, "a->b", "queue_bytes", 1.0)]
    rows = frame(spark, samples)
    assert collected(rates(rows)) == []
    (link,) = collected(links(rows))
    assert (link["mean_bytes_per_s"], link["utilisation"]) == (None, None)
    assert series(rows.unionByName(rows)) != []


def test_utilisation_uses_the_limit_at_the_time(spark: SparkSession) -> None:
    samples: list[Sample] = []
    limits = [100, 100, 50, 50, 0]
    sent = [0, 50, 150, 200, 900]
    queued = [0, 0, 30, 10, 0]
    for at, (limit, count, waiting) in enumerate(zip(limits, sent, queued, strict=True)):
        samples += [
            (at, "a->b", "bandwidth_bytes_per_s", limit),
            (at, "a->b", "sent_bytes", count),
            (at, "a->b", "sent_messages", at),
            (at, "a->b", "queue_bytes", waiting),
            (at, "a->b", "dropped_messages", 2 * at),
            (at, "b->a", "sent_bytes", 0),
            (at, "b->a", "queue_bytes", 0),
        ]
    first, second = collected(links(frame(spark, samples)))
    assert first["link"] == "a->b"
    # 100 + 100 + 50 + 50 bytes could be sent in the four seconds.
    assert first["utilisation"] == 900 / 300
    assert first["sent_bytes"] == 900
    assert first["mean_bytes_per_s"] == 225
    assert first["waiting_share"] == 0.4
    assert first["most_queued_bytes"] == 30
    assert first["dropped_messages"] == 8
    assert (second["link"], second["utilisation"]) == ("b->a", None)


def test_queues_report_their_maximum_and_empty_ones_are_left_out(
    spark: SparkSession,
) -> None:
    samples = [(at, "p", "log_bytes", float(at)) for at in range(101)]
    samples += [(at, "p", "publications_waiting", 0.0) for at in range(3)]
    (found,) = collected(queues(frame(spark, samples)))
    assert (found["largest"], found["p99"], found["mean"], found["last"]) == (100, 99, 50, 100)


def test_fairness_is_jains_index_among_members_with_messages(spark: SparkSession) -> None:
    samples = []
    for subject, rate in (("p", 1), ("q", 3), ("idle", 0)):
        samples += [(at, subject, "published_messages", rate * at) for at in range(3)]
    samples += [(at, "s", "delivered_messages", 4 * at) for at in range(3)]
    found = collected(fairness(rates(frame(spark, samples))))
    assert found == [
        {"run": "r", "among": "pubends", "members": 2, "jain": 16 / 20},
        {"run": "r", "among": "subscriptions", "members": 1, "jain": 1.0},
    ]
