"""The places of a queue's rows."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.services.queues.log.append import entry_of
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.settlements import Settlements
from penstock.services.queues.messages import SettlementEntry
from penstock.services.queues.parameters import QueueConfig
from penstock.services.queues.queue.consumers import Consumers, QueueConsumer
from penstock.services.queues.queue.dead_letters import DeadLetters
from penstock.services.queues.queue.rows import QueueRows

NOW = 1000 * SECOND
ALIAS = ("home", "orders")


class Desk:
    """The rows of one queue with everything around them."""

    def __init__(self, make_journal, **config):
        self.journal = make_journal()
        self.entries, self.consumers = Entries(config.pop("memory_bytes", 1 << 20)), Consumers()
        self.settlements = Settlements(self.journal, 5, 20)
        config = QueueConfig("work", **{"dead_letter_queue": "", "max_deliveries": 2, **config})
        self.letters = DeadLetters(config, self.entries, self.settlements, 5)
        self.rows = QueueRows(config, self.entries, self.consumers, self.settlements, self.letters)

    def ready(self):
        return [part for _, level in self.rows.ready.levels() for part in level]

    def note(self):
        """The next settlement note."""
        out = []
        self.settlements.flush(out)
        self.settlements.resolved(out[0].token, None, NOW, [])
        return out[0].frame


@pytest.fixture
def desk(make_journal):
    return Desk(make_journal)


def test_rows_of_producers_are_ready_and_forwarded_ones_are_prepared(desk, make_rows):
    desk.rows.arrived(make_rows(1, 3))
    desk.rows.arrived(make_rows(4, 3, origin="alias/home/orders", first_sequence=70, in_doubt=True))
    assert desk.ready() == [(1, 4)]
    assert desk.rows.prepared.intervals(ALIAS) == ((70, 73),)
    assert desk.rows.problem() == ""


def test_a_decision_makes_prepared_rows_ready_or_settles_them(desk, make_rows):
    desk.rows.arrived(make_rows(4, 3, origin="alias/home/orders", first_sequence=70, in_doubt=True))
    assert desk.rows.commit(ALIAS, 70, 72) == 2
    assert desk.rows.commit(ALIAS, 70, 72) == 0
    desk.rows.withdraw(ALIAS, 72, 80)
    assert desk.ready() == [(4, 6)]
    note = desk.note()
    assert (note.committed, note.settled) == (((4, 6),), ((6, 7),))


def test_a_redelivery_counts_up_to_the_limit(desk, make_rows):
    desk.rows.arrived(make_rows(1, 3))
    desk.rows.ready.remove(4, 1, 4)
    desk.rows.redeliver([(1, 2)], NOW, counted=True)
    desk.rows.redeliver([(2, 3)], NOW, counted=False)
    assert desk.rows.attempts == {1: 1}
    assert desk.ready() == [(1, 3)]
    desk.rows.ready.remove(4, 1, 2)
    desk.rows.redeliver([(1, 2)], NOW, counted=True)
    assert desk.ready() == [(2, 3)]
    assert desk.letters.messages == 1
    note = desk.note()
    assert (note.attempts, note.settled) == (((1, 2, 1), (1, 2, 2)), ((1, 2),))


def test_rows_that_may_have_been_delivered_are_marked_and_not_counted(desk, make_rows):
    desk.rows.arrived(make_rows(1, 3))
    desk.rows.mark_maybe_delivered([(2, 3)])
    assert desk.rows.attempts == {2: 0}


def test_settled_rows_are_forgotten(desk, make_rows):
    desk.rows.arrived(make_rows(1, 3))
    desk.rows.mark_maybe_delivered([(1, 4)])
    desk.rows.settled([(1, 3)])
    assert desk.entries.rows == 1
    assert desk.rows.attempts == {3: 0}


def test_expired_rows_leave_when_they_are_ready_or_come_back(desk, make_rows):
    desk.rows.arrived(make_rows(1, 3, expires_at=NOW))
    desk.rows.ready.remove(4, 1, 2)
    assert desk.rows.next_expiry() == NOW
    desk.rows.expire(NOW - 1)
    assert desk.ready() == [(2, 4)]
    desk.rows.expire(NOW)
    assert desk.ready() == []
    desk.rows.redeliver([(1, 2)], NOW, counted=True)
    assert desk.ready() == []
    assert desk.rows.expired_messages == 3
    assert desk.rows.next_expiry() is None


def test_purging_settles_what_is_ready(desk, make_rows):
    desk.rows.arrived(make_rows(1, 3))
    desk.rows.arrived(make_rows(4, 1, priority=9))
    assert desk.rows.purge() == 4
    assert sorted(desk.note().settled) == [(1, 4), (4, 5)]


def test_rejected_rows_are_given_up(desk, make_rows):
    desk.rows.arrived(make_rows(1, 3))
    desk.rows.reject([(1, 2), (3, 4)], "rejected")
    assert desk.letters.messages == 2


def test_rows_whose_bodies_are_lost_are_settled(make_journal, make_rows):
    desk = Desk(make_journal, memory_bytes=1)
    desk.rows.arrived(make_rows(1, 3))
    desk.rows.lose([(2, 3)])
    assert desk.rows.lost_messages == 3
    assert desk.note().settled == ((1, 4),)


def test_a_restart_puts_every_row_where_it_belongs(desk, make_rows):
    desk.entries.add(entry_of(make_rows(1, 3), recovered=True))
    forwarded = make_rows(4, 3, origin="alias/home/orders", first_sequence=70, in_doubt=True)
    desk.entries.add(entry_of(forwarded, recovered=True))
    note = SettlementEntry(
        desk.journal.note(), ((1, 2),), attempts=((2, 3, 2), (3, 4, 1)), committed=((4, 5),)
    )
    desk.rows.recover_note(note)
    desk.rows.place_recovered()
    assert desk.ready() == [(3, 5)], "1 is settled, 2 was tried too often"
    assert desk.rows.prepared.intervals(ALIAS) == ((71, 73),)
    assert desk.letters.messages == 1


def test_a_row_in_two_places_is_noticed(desk, make_rows):
    desk.rows.arrived(make_rows(1, 4))
    desk.rows.ready.remove(4, 3, 5)
    consumer = QueueConsumer("s", "c", None)
    desk.consumers.add(consumer)
    consumer.deliver(2, 4, 0)
    assert "rows in [2, 4) are in two places" in desk.rows.problem()
    consumer.deliver(10, 12, 0)
    assert "are more than its 4 messages" in desk.rows.problem()
