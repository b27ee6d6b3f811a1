"""Rounds that a peer did not run."""

from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.lab.workloads.gossip.rounds import SKIPPED, RoundCount
from penstock.services.gossip.telemetry import DROPPED, ROUNDS


def record(at_s: float, value: float, metric: str = ROUNDS) -> TraceRecord:
    return TraceRecord(round(at_s * SECOND), "p", "default", metric, value)


def skipped(*records: TraceRecord) -> list[float]:
    counts = RoundCount(5 * SECOND)
    found = [counts.skipped(each) for each in records]
    assert all(each is None or each.metric == SKIPPED for each in found)
    return [each.value for each in found if each is not None]


def test_a_peer_that_runs_every_round_skips_none() -> None:
    assert skipped(record(3, 1), record(8.2, 2), record(12.9, 3)) == [0, 0, 0]


def test_rounds_that_were_not_run_are_skipped() -> None:
    assert skipped(record(3, 1), record(18, 2), record(23, 3)) == [0, 2, 2]


def test_other_records_are_left_alone() -> None:
    assert skipped(record(3, 1, DROPPED)) == []
