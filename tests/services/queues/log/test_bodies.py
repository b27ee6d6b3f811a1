"""Bodies are read back one read at a time."""

from __future__ import annotations

from penstock.core.machine import LogRead, ReadLog
from penstock.services.queues.log.append import entry_of
from penstock.services.queues.log.bodies import BodyReader
from penstock.services.queues.log.entries import Entries


def test_one_read_is_under_way_and_loads_what_it_brings(make_journal, make_rows):
    journal, entries, out = make_journal(), Entries(1), []
    rows = make_rows(1, 3)
    journal.place(rows.frame.batch)
    entries.add(entry_of(rows))
    bodies = BodyReader(journal, entries)
    bodies.need(1, out)
    bodies.need(1, out)
    (read,) = out
    assert isinstance(read, ReadLog)
    assert (read.low, read.high) == (1, 4)
    assert not bodies.loaded(LogRead(read.token + 1, (), 4))
    assert bodies.loaded(LogRead(read.token, (rows,), 4))
    assert entries.find(1).frame is rows.frame
    bodies.need(1, out)
    assert len(out) == 2


def test_what_cannot_be_read_is_noted_as_lost(make_journal):
    journal, out = make_journal(), []
    bodies = BodyReader(journal, Entries(1))
    bodies.need(1, out)
    assert bodies.loaded(LogRead(out[0].token, (), 4, lost=((1, 4),)))
    assert list(journal.lost) == [(1, 4)]
