"""Decisions: what they name, when there can be none, and who is told."""

from __future__ import annotations

from typing import Any

from penstock.core.machine import PersistFailed, PersistState
from penstock.core.open_request import OpenRequest
from penstock.services.guaranteed.staging.messages import CommitStages, StageRows
from penstock.services.guaranteed.staging.staged_epoch import Decision


def staged(parts: Any, epoch: int = 1, count: int = 2) -> Any:
    """Rows of one writer that are durable."""
    parts.rows.stage("w", StageRows("s", epoch, "w", 0, parts.batch(count)), parts.now, parts.out)
    (order,) = parts.take()
    parts.rows.resolved(order.token, None, [])
    return parts


def commit(parts: Any, epoch: int = 1, rows: int = 2, session: str = "c", pubend: str = "") -> None:
    request = CommitStages("s", epoch, (("w", rows),), pubend)
    parts.commits.commit(OpenRequest(session, request), request, parts.out)


def saving(parts: Any) -> PersistState:
    (order,) = parts.take()
    assert isinstance(order, PersistState)
    assert parts.commits.ordered(order.token)
    return order


def test_a_decision_names_the_rows_and_their_numbers(staging_parts: Any) -> None:
    parts = staged(staging_parts())
    commit(parts)
    decided = parts.commits.resolved(saving(parts).token, None, parts.out)

    decision = Decision(1, "p", 0, 2, ((0, 2),))
    assert decided[:2] == ("s", decision)
    assert decided[2].session == "c"
    assert list(parts.sinks.unfinished()) == [("s", decision)]


def test_what_is_being_decided_is_needed(staging_parts: Any) -> None:
    parts = staged(staging_parts())
    commit(parts)
    assert parts.commits.needed_ticks() == [0]

    parts.commits.resolved(saving(parts).token, None, [])
    assert parts.commits.needed_ticks() == []


def test_a_repeated_commit_waits_for_the_same_decision(staging_parts: Any) -> None:
    parts = staged(staging_parts())
    commit(parts)
    order = saving(parts)
    commit(parts, session="again")

    assert parts.take() == []
    assert parts.commits.resolved(order.token, None, [])[2].session == "again"


def test_a_stage_with_another_number_of_rows_prevents_the_decision(staging_parts: Any) -> None:
    parts = staged(staging_parts())
    commit(parts, rows=3)

    ((_, reply),) = parts.said()
    assert "holds 2 rows instead of 3" in reply.problem


def test_a_sink_decides_one_epoch_at_a_time(staging_parts: Any) -> None:
    parts = staged(staging_parts())
    commit(parts)
    saving(parts)
    commit(parts, epoch=2)

    ((_, reply),) = parts.said()
    assert "still publishing an earlier epoch" in reply.problem


def test_a_pubend_that_is_not_hosted_is_told(staging_parts: Any) -> None:
    parts = staged(staging_parts(("p", "q")))
    commit(parts, pubend="r")

    ((_, reply),) = parts.said()
    assert reply.problem == "this broker hosts no pubend 'r' (it hosts: p, q)"


def test_a_decision_that_was_not_saved_is_none(staging_parts: Any) -> None:
    parts = staged(staging_parts())
    commit(parts)
    token = saving(parts).token

    failure = PersistFailed(token, "disk full")
    assert parts.commits.resolved(token, failure, parts.out) is None
    ((session, reply),) = parts.said()
    assert (session, reply.problem) == ("c", "the decision was not saved: disk full")
    assert list(parts.sinks.unfinished()) == []
