"""One log of rows and notes: positions, recovery, checkpoints, reservations, trimming."""

from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.core.machine import LogRead, Persist, PersistFailed, PersistState, ReadLog, TrimLog
from penstock.core.tokens import Tokens
from penstock.services.queues.context import QueueContext
from penstock.services.queues.log.journal import RESERVED_AT_ONCE, Journal
from penstock.services.queues.messages import SenderEntry
from penstock.services.queues.parameters import QueueParameters

START = 1000 * SECOND


def found(saved, logs) -> Journal:
    """A journal that starts with this on the disk."""
    context = QueueContext("b", QueueParameters(), Tokens(), saved, logs, START)
    return Journal("queue/q", context)


def test_rows_and_notes_take_positions_in_order(make_journal, make_batch):
    journal = make_journal()
    assert (journal.place(make_batch(3)).low, journal.note().low) == (1, 4)
    assert journal.assigned_end == 5


def test_an_empty_log_is_ready_at_once_and_another_is_read_to_its_end(make_rows):
    empty = found({}, {})
    empty.start([])
    assert empty.ready
    journal, out = found({}, {"queue/q": (1, 8, 100)}), []
    journal.start(out)
    (read,) = out
    assert isinstance(read, ReadLog)
    assert (read.low, read.high) == (1, 8)
    assert journal.is_recovery(read.token)
    assert not journal.recovered(LogRead(read.token, (make_rows(1, 3),), 4), out)
    assert (out[-1].low, out[-1].high) == (4, 8)
    assert journal.recovered(LogRead(out[-1].token, (), 8, lost=((5, 6),)), out)
    assert list(journal.lost) == [(5, 6)]


def test_a_checkpoint_leaves_out_what_the_store_has_not_confirmed(make_journal, make_rows):
    journal, out = make_journal(), []
    journal.origins.add("producer/p", 0, 5)
    journal.append(make_rows(1, 5), out)
    assert journal.checkpoint_at() == START + SECOND
    assert journal.checkpoint([("producer/p", 3, 2)], {"x": [(1, 2)]}, START, out)
    persist, state = out
    assert isinstance(persist, Persist)
    assert isinstance(state, PersistState)
    assert not journal.checkpoint([], {}, START, out), "one checkpoint is under way"
    assert journal.resolved(state.token, None)
    again = found(state.values, {})
    assert again.origins.dump() == [("producer/p", [(0, 3)])]
    assert again.recovered_extra == {"x": [(1, 2)]}
    assert again.assigned_end == 1, "position 1 was not confirmed"


def test_a_journal_without_changes_saves_nothing_unless_asked(make_journal):
    journal = make_journal()
    assert journal.checkpoint_at() is None
    assert not journal.checkpoint([], {}, START, [])
    journal.request_checkpoint()
    assert journal.checkpoint([], {}, START, [])


def test_a_trim_stops_at_the_checkpoint_and_at_what_is_needed(make_journal, make_rows):
    journal, out = make_journal(), []
    journal.place(make_rows(1, 9).frame.batch)
    journal.resolved(journal.append(make_rows(1, 9), out), None)
    journal.trim(None, out)
    assert not any(isinstance(each, TrimLog) for each in out), "nothing is saved"
    journal.checkpoint([], {}, START, out)
    journal.resolved(out[-1].token, None)
    journal.trim(4, out)
    assert out[-1] == TrimLog("queue/q", 4)
    journal.trim(None, out)
    assert out[-1] == TrimLog("queue/q", 10)


def test_reserved_positions_are_not_used_after_a_restart(make_journal):
    journal, out = make_journal(), []
    journal.reserve(out)
    journal.reserve(out)
    (state,) = out
    assert not journal.is_reserved(2)
    journal.resolved(state.token, None)
    assert journal.is_reserved(1 + RESERVED_AT_ONCE)
    assert found(state.values, {}).assigned_end == 1 + RESERVED_AT_ONCE


def test_a_failed_sync_closes_the_journal(make_journal, make_rows):
    journal, out = make_journal(), []
    token = journal.append(make_rows(1, 1), out)
    journal.resolved(token, PersistFailed(token, "sync failed", uncertain=True))
    assert journal.closed_because == "sync failed"


def test_a_checkpoint_after_a_failed_sync_does_not_cover_what_may_be_stored(
    make_journal, make_rows
):
    journal, out = make_journal(), []
    journal.resolved(journal.append(make_rows(1, 2), out), None)
    journal.assigned_end = 3
    note = SenderEntry(journal.note(), "producer/p", 7)
    token = journal.append(note, out)
    journal.resolved(token, PersistFailed(token, "sync failed", uncertain=True))
    refused = journal.append(make_rows(4, 1), out)
    journal.assigned_end = 5
    journal.resolved(refused, PersistFailed(refused, "sync failed"))
    journal.checkpoint([], {}, START, out)
    restarted = found(out[-1].values, {})
    assert restarted.checkpointed_to == 3
    assert restarted.is_unsaved(note)


def test_a_name_that_was_taken_over_is_recovered_unless_the_checkpoint_has_it(make_journal):
    journal = make_journal()
    note = SenderEntry(journal.note(), "producer/p", 7)
    journal.sender_found(note)
    assert journal.origins.instances.of("producer/p") == 7
    journal.checkpointed_to = 5
    assert not journal.is_unsaved(note)
