"""Rows on their way into the staging log, and what their writers are told."""

from __future__ import annotations

from typing import Any

from penstock.core.machine import Persist, PersistFailed
from penstock.services.guaranteed.staging.messages import RowsStaged, StageRows
from penstock.services.guaranteed.staging.stage_table import StageKey
from penstock.services.guaranteed.staging.staged_epoch import Decision, SinkState

KEY = StageKey("s", 1, "w")


def stage(parts: Any, first: int = 0, count: int = 2, session: str = "writer") -> None:
    parts.rows.stage(
        session, StageRows("s", 1, "w", first, parts.batch(count)), parts.now, parts.out
    )


def persist(parts: Any) -> Persist:
    (order,) = parts.take()
    assert isinstance(order, Persist)
    assert parts.rows.ordered(order.token)
    return order


def test_rows_are_confirmed_when_they_are_durable(staging_parts: Any) -> None:
    parts = staging_parts()
    stage(parts)
    order = persist(parts)
    parts.rows.resolved(order.token, None, parts.out)

    assert parts.said() == [("writer", RowsStaged("s", 1, "w", 2))]
    assert StageKey.parse(order.frame.producer) == KEY


def test_a_repeat_of_durable_rows_is_confirmed_at_once(staging_parts: Any) -> None:
    parts = staging_parts()
    stage(parts)
    parts.rows.resolved(persist(parts).token, None, [])
    stage(parts, session="again")

    assert parts.said() == [("again", RowsStaged("s", 1, "w", 2))]


def test_a_repeat_of_rows_in_flight_waits_for_them(staging_parts: Any) -> None:
    parts = staging_parts()
    stage(parts)
    order = persist(parts)
    stage(parts, session="again")
    assert parts.take() == []

    parts.rows.resolved(order.token, None, parts.out)
    assert parts.said() == [("again", RowsStaged("s", 1, "w", 2))]


def test_rows_that_leave_a_gap_are_refused(staging_parts: Any) -> None:
    parts = staging_parts()
    stage(parts, first=5)

    ((_, reply),) = parts.said()
    assert "holds 0 rows, and these begin with row 5" in reply.problem


def test_rows_of_a_decided_epoch_need_not_be_staged(staging_parts: Any) -> None:
    parts = staging_parts()
    parts.sinks.decided("s", SinkState(decision=Decision(1, "p", 0, 2, ((0, 2),))))
    stage(parts)

    assert parts.said() == [("writer", RowsStaged("s", 1, "w", 0, decided=True))]


def test_rows_that_could_not_be_stored_drop_their_stage(staging_parts: Any) -> None:
    parts = staging_parts()
    stage(parts)
    token = persist(parts).token
    parts.rows.resolved(token, PersistFailed(token, "disk full", uncertain=True), parts.out)

    ((_, reply),) = parts.said()
    assert (reply.rows, reply.uncertain) == (0, True)
    assert "disk full" in reply.problem
    assert parts.rows.table.get(KEY) is None


def test_a_stage_that_was_dropped_meanwhile_is_told(staging_parts: Any) -> None:
    parts = staging_parts()
    stage(parts)
    token = persist(parts).token
    parts.rows.table.drop(KEY)
    parts.rows.resolved(token, None, parts.out)

    ((_, reply),) = parts.said()
    assert reply.problem == "stage 'w' was dropped"


def test_rows_that_were_staged_before_a_restart_are_durable(staging_parts: Any) -> None:
    before = staging_parts()
    stage(before)
    entry = persist(before).frame
    parts = staging_parts()
    parts.rows.recovered(entry, parts.now)

    found = parts.rows.table.get(KEY)
    assert (found.rows, found.durable_rows) == (2, 2)


def test_what_waits_for_a_commit_is_bounded(staging_parts: Any) -> None:
    few = staging_parts(stage_limit=1)
    stage(few)
    few.take()
    few.rows.stage("other", StageRows("s", 1, "v", 0, few.batch(1)), few.now, few.out)
    ((_, reply),) = few.said()
    assert "stage_limit" in reply.problem

    small = staging_parts(staging_limit_bytes=1)
    stage(small)
    ((_, reply),) = small.said()
    assert "staging_limit_bytes (1) is used up" in reply.problem
