"""A decided epoch on its way into its pubend, with refusals, damage and failed saves."""

from __future__ import annotations

from typing import Any

from penstock.content.rows.frame import Frame
from penstock.core.machine import LogRead, Persist, PersistFailed, PersistState, ReadLog
from penstock.core.open_request import OpenRequest
from penstock.services.guaranteed.links import LOCAL_STAGING
from penstock.services.guaranteed.messages import LogEntry, PublishReceipt, PublishRefused
from penstock.services.guaranteed.staging.epoch_publisher import RETRY
from penstock.services.guaranteed.staging.messages import CommitStages, StagesCommitted
from penstock.services.guaranteed.staging.staged_epoch import Decision, SinkState

PIECES = ((0, 2), (5, 6))
PRODUCER = "sink/s"

ASKED = OpenRequest("c", CommitStages("s", 1, ()))


def begun(parts: Any, pubend: str = "p") -> Any:
    decision = Decision(1, pubend, 10, 3, PIECES)
    parts.sinks.decided("s", SinkState(decision=decision))
    parts.publisher.begin("s", decision, parts.now)
    assert parts.publisher.wait_for("s", 1, ASKED)
    parts.publisher.advance("s", parts.now, parts.out)
    return parts


def read(parts: Any) -> None:
    """The staging log answers the read that was just ordered."""
    (order,) = parts.take()
    assert isinstance(order, ReadLog)
    rows = order.high - order.low
    entry = LogEntry(
        "", 0, Frame(order.low, order.high, range(order.low, order.high), parts.batch(rows))
    )
    parts.publisher.log_read(LogRead(order.token, (entry,), order.high), parts.now, parts.out)


def receipt(parts: Any, first: int, count: int) -> None:
    message = PublishReceipt(PRODUCER, first, count, 1)
    parts.publisher.receipt(LOCAL_STAGING, message, parts.now, parts.out)


def test_pieces_are_published_one_after_the_other_and_then_the_end_is_saved(
    staging_parts: Any,
) -> None:
    parts = begun(staging_parts())
    for first, count in ((10, 2), (12, 1)):
        read(parts)
        (stored,) = parts.take()
        assert isinstance(stored, Persist)
        assert (stored.frame.producer, stored.frame.first_sequence) == (PRODUCER, first)
        receipt(parts, first, count)
    (order,) = parts.take()
    assert isinstance(order, PersistState)
    assert parts.publisher.ordered(order.token)

    answers = parts.publisher.resolved(order.token, None, parts.now)
    assert [(each.link, each.message) for each in answers] == [("c", StagesCommitted("s", 1, 3))]
    assert parts.sinks.state("s") == SinkState(1, 13)
    assert parts.publisher.needed_ticks() == []


def test_what_is_being_published_is_needed(staging_parts: Any) -> None:
    assert begun(staging_parts()).publisher.needed_ticks() == [0, 5]


def test_a_refused_piece_is_read_and_published_again(staging_parts: Any) -> None:
    parts = begun(staging_parts())
    read(parts)
    parts.take()
    refusal = PublishRefused(PRODUCER, 10, 2, "full")
    parts.publisher.refused(LOCAL_STAGING, refusal, parts.now, parts.out)
    assert parts.publisher.retries == {"s": parts.now + RETRY}

    parts.publisher.deadline(parts.now + RETRY, parts.out)
    (order,) = parts.take()
    assert isinstance(order, ReadLog)
    assert (order.low, order.high) == PIECES[0]


def test_a_pubend_that_is_not_hosted_any_more_is_tried_again(staging_parts: Any) -> None:
    parts = begun(staging_parts(), pubend="gone")
    read(parts)

    assert parts.take() == []
    assert parts.publisher.retries == {"s": parts.now + RETRY}


def test_a_damaged_piece_is_left_out_and_told(staging_parts: Any) -> None:
    parts = begun(staging_parts())
    (order,) = parts.take()
    lost = LogRead(order.token, (), order.high, lost=((order.low, order.high),))
    parts.publisher.log_read(lost, parts.now, parts.out)
    read(parts)
    parts.take()
    receipt(parts, 12, 1)
    (order,) = parts.take()

    (answer,) = parts.publisher.resolved(order.token, None, parts.now)
    assert answer.message.rows == 1
    assert answer.message.problem.startswith("2 of the epoch's rows were damaged")


def test_an_end_that_could_not_be_saved_is_saved_again(staging_parts: Any) -> None:
    parts = begun(staging_parts())
    for first, count in ((10, 2), (12, 1)):
        read(parts)
        parts.take()
        receipt(parts, first, count)
    (order,) = parts.take()

    failure = PersistFailed(order.token, "disk full")
    assert parts.publisher.resolved(order.token, failure, parts.now) == []
    parts.publisher.deadline(parts.now + RETRY, parts.out)
    (again,) = parts.take()
    assert isinstance(again, PersistState)


def test_a_session_that_is_gone_is_not_answered(staging_parts: Any) -> None:
    parts = begun(staging_parts())
    parts.publisher.session_closed("c")
    assert not parts.publisher.wait_for("s", 2, ASKED)
    assert not parts.publisher.wait_for("other", 1, ASKED)

    for first, count in ((10, 2), (12, 1)):
        read(parts)
        parts.take()
        receipt(parts, first, count)
    (order,) = parts.take()
    assert parts.publisher.resolved(order.token, None, parts.now) == []


def test_a_receipt_of_an_unknown_sink_is_ignored(staging_parts: Any) -> None:
    parts = staging_parts()
    receipt(parts, 0, 1)

    assert parts.take() == []
