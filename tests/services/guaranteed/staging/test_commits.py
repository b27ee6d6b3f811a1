"""Decisions: what they name, when there can be none, and who is told."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.core.machine import PersistFailed, PersistState
from penstock.core.open_request import OpenRequest
from penstock.services.guaranteed.staging.messages import CommitStages, StageRows
from penstock.services.guaranteed.staging.staged_epoch import Decision, SinkState


def staged(parts: Any, epoch: int = 1, count: int = 2) -> Any:
    """Rows of one writer that are durable."""
    parts.rows.stage("w", StageRows("s", epoch, "w", 0, parts.batch(count)), parts.now, parts.out)
    (order,) = parts.take()
    parts.rows.resolved(order.token, None, [])
    return parts


def commit(
    parts: Any, epoch: int = 1, rows: int = 2, session: str = "c", pubend: str = "", **more: Any
) -> None:
    request = CommitStages("s", epoch, (("w", rows),), pubend, **more)
    parts.commits.commit(OpenRequest(session, request), request, parts.now, parts.out)


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


def finish(parts: Any, order: PersistState, epoch: int) -> None:
    """As if every row was published, and that was saved."""
    parts.commits.resolved(order.token, None, [])
    state = msgspec.structs.replace(parts.sinks.state("s"), epoch=epoch, decision=None)
    parts.sinks.finished("s", state)


def test_an_epoch_follows_one_that_this_broker_knows(staging_parts: Any) -> None:
    parts = staged(staging_parts(), epoch=5)
    commit(parts, epoch=5, follows=4)
    ((_, reply),) = parts.said()
    assert reply.problem.startswith(
        "epoch 5 of sink 's' follows epoch 4, but of its epochs this broker knows none: they were "
        "published by another broker"
    )

    commit(parts, epoch=5)
    finish(parts, saving(parts), 5)
    staged(parts, epoch=6)
    commit(parts, epoch=6, follows=5)
    finish(parts, saving(parts), 6)
    staged(parts, epoch=9)
    commit(parts, epoch=9, follows=8)
    ((_, reply),) = parts.said()
    assert "this broker knows none after epoch 6" in reply.problem


def test_a_sink_stays_at_its_pubend_when_others_are_added(staging_parts: Any) -> None:
    parts = staged(staging_parts(("p",)))
    commit(parts)
    finish(parts, saving(parts), 1)

    # A broker that hosts many more pubends chooses another one for a new sink of this name.
    names = ("p", *(f"q{number}" for number in range(50)))
    later = staging_parts(names)
    assert later.gate.choose("s", "") != "p"
    later.sinks.finished("s", parts.sinks.state("s"))
    staged(later, epoch=2)
    commit(later, epoch=2)
    assert later.commits.resolved(saving(later).token, None, [])[1].pubend == "p"


def test_a_pubend_that_is_gone_is_named(staging_parts: Any) -> None:
    parts = staging_parts(("q",))
    parts.sinks.finished("s", SinkState(1, 2, pubend="p"))
    staged(parts, epoch=2)
    commit(parts, epoch=2)
    ((_, reply),) = parts.said()
    assert reply.problem == "this broker hosts no pubend 'p' (it hosts: q)"
    assert reply.elsewhere


def test_a_full_table_refuses_new_sinks_and_serves_the_old(staging_parts: Any) -> None:
    parts = staged(staging_parts())
    for number in range(10):
        parts.sinks.finished(f"old {number}", SinkState(0, 1))
    commit(parts)
    ((_, reply),) = parts.said()
    assert "this broker remembers 10 sinks (sink_limit) and drops none" in reply.problem

    commit(parts, once=True)
    assert parts.commits.resolved(saving(parts).token, None, [])[1].epoch == 1

    request = CommitStages("old 3", 1, ())
    parts.commits.commit(OpenRequest("c", request), request, parts.now, parts.out)
    saving(parts)


def test_sinks_whose_first_decision_is_being_saved_count(staging_parts: Any) -> None:
    parts = staged(staging_parts())
    for number in range(9):
        parts.sinks.finished(f"old {number}", SinkState(0, 1))
    commit(parts)
    saving(parts)
    request = CommitStages("another", 0, ())
    parts.commits.commit(OpenRequest("c", request), request, parts.now, parts.out)
    ((_, reply),) = parts.said()
    assert "(sink_limit)" in reply.problem
