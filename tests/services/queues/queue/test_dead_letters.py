"""Rows that a queue gives up."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.services.queues.log.append import entry_of
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.settlements import Settlements
from penstock.services.queues.parameters import QueueConfig
from penstock.services.queues.queue.dead_letters import DeadLetters

NOW = 1000 * SECOND


class Desk:
    """Dead letters over the rows [1, 4) and [4, 7)."""

    def __init__(self, make_journal, make_rows, target="dead-letters", memory_bytes=1 << 20):
        self.entries = Entries(memory_bytes)
        for low in (1, 4):
            self.entries.add(entry_of(make_rows(low, 3)))
        self.settlements = Settlements(make_journal(), 5, 20)
        config = QueueConfig("work", dead_letter_queue=target)
        self.letters = DeadLetters(config, self.entries, self.settlements, 5)

    def settled(self):
        out = []
        self.settlements.flush(out)
        return [part for each in out for part in each.frame.settled]

    def send(self, now=NOW):
        sent = []
        return self.letters.send(now, sent), sent


@pytest.fixture
def desk(make_journal, make_rows):
    return Desk(make_journal, make_rows)


def test_a_letter_says_where_it_comes_from_and_why(desk):
    desk.letters.give_up(2, 3, "expired")
    needed, (letter,) = desk.send()
    assert needed is None
    assert (letter.queue, letter.target, letter.intervals) == ("work", "dead-letters", ((2, 3),))
    (attributes,) = letter.batch.attribute_rows()
    assert attributes == {
        "n": 2,
        "dead_letter_queue": "work",
        "dead_letter_reason": "expired",
    }
    assert desk.letters.messages == 1


def test_rows_are_settled_when_the_letter_is_stored(desk):
    desk.letters.give_up(1, 6, "rejected")
    _, sent = desk.send()
    assert [letter.intervals for letter in sent] == [((1, 4),), ((4, 6),)]
    assert desk.settled() == []
    desk.letters.buried(((1, 4),), "", NOW)
    assert desk.settled() == [(1, 4)]


def test_a_refused_letter_is_sent_again_later(desk):
    desk.letters.give_up(1, 2, "rejected")
    desk.send()
    desk.letters.buried(((1, 2),), "full", NOW)
    assert desk.letters.retry_at == NOW + 5
    assert desk.send(NOW + 4) == (None, [])
    assert len(desk.send(NOW + 5)[1]) == 1


def test_without_a_dead_letter_queue_rows_are_settled_at_once(make_journal, make_rows):
    desk = Desk(make_journal, make_rows, target="")
    desk.letters.give_up(1, 3, "rejected")
    assert desk.send() == (None, [])
    assert desk.settled() == [(1, 3)]


def test_a_missing_body_is_needed_first_or_lost(make_journal, make_rows):
    desk = Desk(make_journal, make_rows, memory_bytes=1)
    desk.letters.give_up(2, 6, "rejected")
    assert desk.send() == (2, [])
    assert desk.letters.lose(desk.entries.find(1)) == [(2, 4)]
    assert desk.send() == (4, [])
