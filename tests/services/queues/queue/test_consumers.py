"""Consumers: credit, in-flight rows, turns."""

from __future__ import annotations

from penstock.content.selectors.parser import parse
from penstock.services.queues.queue.consumers import Consumers, QueueConsumer


def consumer_of(consumers, name, credit, selector=None, session="s"):
    consumer = QueueConsumer(session, name, selector)
    consumers.add(consumer)
    consumers.grant(consumer, credit, 100)
    return consumer


def test_deliveries_use_credit_and_are_in_flight_until_they_are_released():
    consumer = QueueConsumer("s", "c", None)
    consumer.credit = 5
    consumer.deliver(1, 4, 0)
    consumer.give(2, 9)
    assert (consumer.credit, consumer.in_flight_count, list(consumer.given)) == (2, 3, [(2, 4)])
    assert consumer.release(3, 8) == [(3, 4)]
    assert (list(consumer.in_flight), list(consumer.given)) == ([(1, 3)], [(2, 3)])
    assert consumer.release(3, 4) == []


def test_consumers_with_credit_take_turns():
    consumers = Consumers()
    one, two = consumer_of(consumers, "one", 1), consumer_of(consumers, "two", 1)
    consumer_of(consumers, "none", 0)
    assert consumers.turns == 2
    assert consumers.next_turn() is one
    consumers.again(one)
    assert consumers.next_turn() is two
    consumers.again(two, first=True)
    assert consumers.next_turn() is two
    two.credit = 0
    consumers.again(two)
    assert consumers.turns == 1


def test_credit_is_limited_and_brings_a_turn_once():
    consumers = Consumers()
    one = consumer_of(consumers, "one", 90)
    consumers.grant(one, 90, 100)
    assert (one.credit, consumers.turns) == (100, 1)


def test_a_consumer_that_rests_returns_with_new_rows():
    consumers = Consumers()
    one = consumer_of(consumers, "one", 1, parse("n > 1"))
    one.scanned[4] = 50
    consumers.rest(consumers.next_turn())
    assert consumers.turns == 0
    consumers.rows_came(4, 20)
    assert consumers.turns == 1
    assert one.scanned[4] == 20


def test_consumers_are_counted_by_session():
    consumers = Consumers()
    one = consumer_of(consumers, "one", 1)
    two = consumer_of(consumers, "two", 1, session="other")
    one.deliver(1, 3, 0)
    assert consumers.in_flight_rows == 2
    assert consumers.of_session("s") == [one]
    consumers.remove(one)
    assert consumers.get("s", "one") is None
    assert (consumers.count_of_session("s"), consumers.count_of_session("other")) == (0, 1)
    assert list(consumers) == [two]
    assert consumers.turns == len(consumers) == 1
