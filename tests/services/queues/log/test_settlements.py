"""Settlement notes."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.core.machine import Persist, PersistFailed, Send
from penstock.services.queues.log.settlements import Settlements

NOW = 1000 * SECOND
ALIAS = ("home", "orders")
REPLY = Send("client", "settled")


@pytest.fixture
def settlements(make_journal):
    return Settlements(make_journal(), retry_ns=5, piggyback_ns=20)


def test_a_reply_waits_for_its_note(settlements):
    out = []
    settlements.settle(1, 3)
    settlements.attempted(4, 5, 2)
    settlements.reply(REPLY)
    settlements.flush(out)
    (order,) = out
    assert isinstance(order, Persist)
    assert (order.frame.settled, order.frame.attempts) == (((1, 3),), ((4, 5, 2),))
    replies = []
    assert settlements.resolved(order.token + 1, None, NOW, replies) == []
    assert settlements.resolved(order.token, None, NOW, replies) == [(1, 3)]
    assert replies == [REPLY]


def test_what_is_settled_meanwhile_goes_into_one_note(settlements):
    out = []
    settlements.settle(1, 2)
    settlements.flush(out)
    settlements.settle(2, 3)
    settlements.settle(3, 4)
    settlements.flush(out)
    assert len(out) == 1
    settlements.resolved(out[0].token, None, NOW, [])
    settlements.flush(out)
    assert out[1].frame.settled == ((2, 3), (3, 4))


def test_a_reply_without_a_settlement_is_given_at_once(settlements):
    out = []
    settlements.reply(REPLY)
    settlements.flush(out)
    assert out == [REPLY]


def test_a_refused_note_is_written_again_before_the_reply(settlements):
    out = []
    settlements.settle(1, 2)
    settlements.reply(REPLY)
    settlements.flush(out)
    assert settlements.resolved(out[0].token, PersistFailed(0, "full"), NOW, out) == []
    assert settlements.next_deadline() == NOW + 5
    settlements.deadline(NOW + 5, out)
    assert len(out) == 2
    assert settlements.resolved(out[1].token, None, NOW, out) == [(1, 2)]
    assert out[2] == REPLY


def test_a_commit_goes_with_another_note(settlements):
    out = []
    settlements.commit(1, 3)
    settlements.decided(ALIAS, ((7, 9),), NOW)
    settlements.flush(out)
    assert out == []
    settlements.settle(5, 6)
    settlements.flush(out)
    assert (out[0].frame.settled, out[0].frame.committed) == (((5, 6),), ((1, 3),))
    assert settlements.take_durable() == []
    settlements.resolved(out[0].token, None, NOW, out)
    assert settlements.take_durable() == [(ALIAS, ((7, 9),))]
    assert settlements.take_durable() == []


def test_a_commit_is_written_alone_after_a_while(settlements):
    out = []
    settlements.commit(1, 3)
    settlements.decided(ALIAS, ((7, 9),), NOW)
    assert settlements.next_deadline() == NOW + 20
    settlements.deadline(NOW + 20, out)
    settlements.flush(out)
    assert out[0].frame.committed == ((1, 3),)


def test_a_repeated_decision_needs_no_note(settlements):
    out = []
    settlements.decided(ALIAS, ((7, 9),), NOW)
    settlements.deadline(NOW + 20, out)
    settlements.flush(out)
    assert out == []
    assert settlements.take_durable() == [(ALIAS, ((7, 9),))]
