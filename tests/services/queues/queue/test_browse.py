"""Browsing."""

from __future__ import annotations

import pytest

from penstock.core.machine import LogRead, ReadLog
from penstock.services.queues.log.append import entry_of
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.messages import Browse
from penstock.services.queues.queue.browse import Browser
from penstock.services.queues.queue.ready import ReadyRows


@pytest.fixture
def browser(make_journal, make_rows):
    """Over the rows [1, 6), of which [3, 5) are ready."""
    journal, entries, ready = make_journal(), Entries(1 << 20), ReadyRows()
    rows = make_rows(1, 5)
    journal.place(rows.frame.batch)
    entries.add(entry_of(rows))
    ready.add(4, 3, 5)
    return Browser(journal, entries, ready)


def ask(browser, make_rows, **request):
    out = []
    browser.browse("s", Browse("work", **request, request=7), out)
    (read,) = out
    assert isinstance(read, ReadLog)
    answers = []
    assert browser.read(LogRead(read.token, (make_rows(1, 5),), 6), answers)
    return answers[0].message


def test_only_ready_rows_are_shown(browser, make_rows):
    answer = ask(browser, make_rows)
    assert [list(frame.ticks) for frame in answer.frames] == [[3, 4]]
    assert (answer.request, answer.next_position) == (7, 0)


def test_a_limit_says_where_to_continue(browser, make_rows):
    answer = ask(browser, make_rows, limit=1)
    assert ([list(frame.ticks) for frame in answer.frames], answer.next_position) == ([[3]], 4)
    answer = ask(browser, make_rows, from_position=4)
    assert [list(frame.ticks) for frame in answer.frames] == [[4]]


def test_a_selector_filters(browser, make_rows):
    answer = ask(browser, make_rows, selector="n = 4")
    assert [list(frame.ticks) for frame in answer.frames] == [[4]]


@pytest.mark.parametrize("request_", [{"selector": "n =="}, {"from_position": 6}, {"limit": 0}])
def test_what_needs_no_read_is_answered_at_once(browser, request_):
    out = []
    browser.browse("s", Browse("work", **request_, request=7), out)
    (answer,) = out
    assert answer.message.frames == ()
    assert bool(answer.message.problem) == ("selector" in request_)


def test_a_read_for_another_purpose_is_left_alone(browser):
    assert not browser.read(LogRead(99, (), 1), [])
