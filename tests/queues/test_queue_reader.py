"""The consuming half of the client, without input or output."""

from __future__ import annotations

from penstock.client.queue_reader import Outcome, Phase, QueueReader
from penstock.content.frame import Frame
from penstock.queues.messages import (
    Credit,
    Deliver,
    Receive,
    Receiving,
    ReceivingStopped,
    Settle,
    Settled,
    StopReceiving,
)


def opened(prefetch: int = 4) -> QueueReader:
    reader = QueueReader("c", "work", "n > 1", prefetch)
    reader.connected()
    assert reader.outgoing() == [Receive("c", "work", "n > 1", prefetch)]
    reader.received(Receiving("c"))
    assert reader.phase is Phase.OPEN
    return reader


def test_settlements_of_one_turn_travel_together_and_credit_follows_at_half():
    reader = opened()
    reader.settle(0, 7, Outcome.ACCEPTED)
    assert reader.outgoing() == [Settle("c", 1, accepted=((7, 8),))]
    reader.settle_all(0, range(3, 5), Outcome.ACCEPTED)
    reader.settle(0, 9, Outcome.FAILED)
    settle, credit = reader.outgoing()
    assert settle == Settle("c", 2, accepted=((3, 5),), failed=((9, 10),))
    assert credit == Credit("c", 4)
    assert reader.outgoing() == []


def test_settled_up_when_the_broker_says_so():
    reader = opened()
    assert reader.settled_up
    reader.settle(0, 1, Outcome.ACCEPTED)
    assert not reader.settled_up
    reader.outgoing()
    assert not reader.settled_up
    reader.received(Settled("c", 1, 1))
    assert reader.settled_up
    assert reader.stale_messages == 1


def test_a_lost_connection_takes_its_messages_with_it():
    reader = opened()
    reader.received(Deliver("c", Frame(1, 2)))
    reader.settle(0, 1, Outcome.ACCEPTED)
    reader.disconnected()
    assert not reader.deliveries
    assert reader.stale_messages == 1
    reader.connected()
    assert reader.outgoing() == [Receive("c", "work", "n > 1", 4)]
    reader.settle(0, 2, Outcome.ACCEPTED)
    reader.received(Receiving("c"))
    assert reader.outgoing() == []


def test_leaving_says_what_was_settled_first():
    reader = opened()
    reader.settle(0, 1, Outcome.REJECTED)
    reader.close()
    assert reader.outgoing() == [Settle("c", 1, rejected=((1, 2),)), StopReceiving("c")]
    reader.received(ReceivingStopped("c"))
    assert reader.is_over


def test_a_refusal_ends_it():
    reader = QueueReader("c", "work", "", 1)
    reader.connected()
    reader.outgoing()
    reader.received(Receiving("c", "no such queue"))
    assert reader.is_over
    assert reader.problem == "no such queue"
