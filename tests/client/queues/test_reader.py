"""The consuming half of the client, without input or output."""

from __future__ import annotations

from penstock.client.life_cycle import ReaderPhase
from penstock.client.queues.message import QueueBatch
from penstock.client.queues.reader import Outcome, QueueReader
from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.limits import MOST_INTERVALS
from penstock.services.queues.messages import (
    Credit,
    Deliver,
    Given,
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
    assert reader.phase is ReaderPhase.OPEN
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
    assert str(reader.error) == "cannot receive from 'work': no such queue"


def batch_of(reader: QueueReader, *positions: int, tried: tuple[int, ...] = ()) -> QueueBatch:
    rows = Batch.from_rows([({}, b"")] * len(positions))
    frame = Frame(positions[0], positions[-1] + 1, range(positions[0], positions[-1] + 1), rows)
    attempts = tuple((position, 0) for position in tried)
    batch = QueueBatch(Deliver("c", frame, attempts), 0, lambda *arguments: None)
    reader.hand_out(batch)
    return batch


def test_what_the_application_was_given_is_told_once():
    reader = opened()
    first, second = batch_of(reader, 1, 2, 3), batch_of(reader, 4, 5)
    assert reader.outgoing() == []
    first.given = 2
    assert reader.outgoing() == [Given("c", ((1, 3),))]
    assert reader.outgoing() == []
    first.given, second.given = 3, 1
    assert reader.outgoing() == [Given("c", ((3, 4), (4, 5)))]


def test_what_was_settled_at_once_need_not_be_told():
    reader = opened()
    batch = batch_of(reader, 1, 2, 3)
    batch.given = 2
    reader.settle_all(0, range(1, 3), Outcome.ACCEPTED)
    assert [type(each) for each in reader.outgoing()] == [Settle, Credit]
    batch.given = 3
    assert reader.outgoing() == [Given("c", ((3, 4),))]


def test_what_came_over_a_lost_connection_is_not_told_on_the_next():
    reader = opened()
    batch = batch_of(reader, 1, 2)
    reader.disconnected()
    batch.given = 2
    reader.connected()
    reader.outgoing()
    reader.received(Receiving("c"))
    assert reader.outgoing() == []


def test_a_message_that_may_have_been_given_before_counts_as_redelivered():
    reader = opened()
    fresh, doubtful = batch_of(reader, 1, 2, tried=(2,))
    assert not fresh.redelivered
    assert doubtful.redelivered
    assert doubtful.failed_deliveries == 0


def test_more_intervals_than_a_message_may_have_travel_in_several():
    reader = opened(prefetch=4 * MOST_INTERVALS)
    reader.settle_all(0, list(range(0, 3 * MOST_INTERVALS, 2)), Outcome.ACCEPTED)
    settles = [each for each in reader.outgoing() if isinstance(each, Settle)]
    assert [len(each.accepted) for each in settles] == [MOST_INTERVALS, MOST_INTERVALS // 2]
    assert [each.number for each in settles] == [1, 2]
    assert not reader.settled_up
    reader.received(Settled("c", 1))
    assert not reader.settled_up
    reader.received(Settled("c", 2))
    assert reader.settled_up
