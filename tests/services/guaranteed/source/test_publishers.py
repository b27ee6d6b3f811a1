"""Who publishes to the pubends of a broker: names, their holders, and how many there may be."""

from __future__ import annotations

from typing import Any

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.services.guaranteed.messages import (
    CloseProducer,
    OpenProducer,
    ProducerOpened,
    ProducerRefused,
    Publish,
    PublishReceipt,
    PublishRefused,
)


def alone(network: Any, **parameters: Any) -> Any:
    """One broker that does everything."""
    brokers = network([], {"b": ("p", "q")}, **parameters)
    brokers.advance(3 * SECOND)
    return brokers


def test_the_later_publisher_of_a_name_takes_it_over_and_the_earlier_is_told(network: Any) -> None:
    brokers = alone(network)
    brokers.client("a", "b", OpenProducer("orders", "p", 1))
    brokers.client("a", "b", Publish("orders", 0, one_row("A0")))
    brokers.client("b2", "b", OpenProducer("orders", "p", 2))
    (refusal,) = brokers.heard("a", ProducerRefused)
    assert refusal.taken_over
    assert "another publisher named 'orders'" in refusal.reason
    assert brokers.heard("b2", ProducerOpened)[-1].next_sequence == 1

    brokers.client("a", "b", Publish("orders", 1, one_row("A1")))
    brokers.client("b2", "b", Publish("orders", 1, one_row("B1")))
    assert [each.first_sequence for each in brokers.heard("a", PublishReceipt)] == [0]
    assert brokers.heard("a", PublishRefused)[-1].first_sequence == 1
    receipt = brokers.heard("b2", PublishReceipt)[-1]
    assert receipt.first_tick > 0, "it is new, and no repeat of the other's"


def test_a_publisher_that_was_replaced_while_it_was_away_does_not_get_its_name_back(
    network: Any,
) -> None:
    brokers = alone(network)
    brokers.client("a", "b", OpenProducer("orders", "p", 1))
    brokers.leave("a", "b")
    brokers.client("b2", "b", OpenProducer("orders", "p", 2))
    brokers.leave("b2", "b")
    brokers.client("a again", "b", OpenProducer("orders", "p", 1, resumes=True))

    assert brokers.heard("a again", ProducerRefused)[-1].taken_over
    brokers.client("b2 again", "b", OpenProducer("orders", "p", 2, resumes=True))
    assert brokers.heard("b2 again", ProducerOpened)


def test_what_waited_of_a_publisher_that_was_replaced_is_not_stored(network: Any) -> None:
    brokers = alone(network)
    brokers.client("a", "b", OpenProducer("orders", "p", 1))
    pubend = brokers.nodes["b"].services["guaranteed"].pubends["p"]
    pubend.control.admission.set_rate(1.0, brokers.now)
    brokers.client("a", "b", Publish("orders", 0, one_row("A0")))
    brokers.client("a", "b", Publish("orders", 1, one_row("A1")))
    assert pubend.waiting == 1
    brokers.client("b2", "b", OpenProducer("orders", "p", 2))

    assert pubend.waiting == 0


def test_names_of_sinks_are_not_for_publishers(network: Any) -> None:
    brokers = alone(network)
    brokers.client("a", "b", OpenProducer("sink/totals", "p", 1))

    assert "belong to sinks" in brokers.heard("a", ProducerRefused)[-1].reason


def test_a_publisher_that_went_to_another_pubend_keeps_its_place_there(network: Any) -> None:
    brokers = alone(network)
    brokers.client("a", "b", OpenProducer("orders", "p", 1))
    brokers.client("a", "b", OpenProducer("orders", "q", 1))
    brokers.client("b2", "b", OpenProducer("orders", "p", 2))
    assert brokers.heard("a", ProducerRefused) == []

    brokers.client("a", "b", Publish("orders", 0, one_row("at q")))
    assert brokers.heard("a", PublishReceipt)


def test_a_publisher_that_is_closed_makes_room_for_another(network: Any) -> None:
    brokers = alone(network, producers_per_session=1)
    for number in range(3):
        brokers.client("alice", "b", OpenProducer(f"p{number}"))
        brokers.client("alice", "b", CloseProducer(f"p{number}"))
    assert len(brokers.heard("alice", ProducerOpened)) == 3

    brokers.client("alice", "b", Publish("p2", 0, one_row("late")))
    assert "was not opened" in brokers.heard("alice", PublishRefused)[-1].reason
    brokers.client("alice", "b", CloseProducer("never opened"))


def one_row(side: str) -> Batch:
    return Batch.from_rows([({"side": side}, b"")])


def test_the_producers_of_a_connection_are_bounded(network: Any) -> None:
    brokers = alone(network, producers_per_session=2)
    for number in (1, 2, 2, 3):
        brokers.client("alice", "b", OpenProducer(f"p{number}"))
    brokers.client("bob", "b", OpenProducer("p3"))
    brokers.advance(SECOND)

    assert [each.producer for each in brokers.heard("alice", ProducerOpened)] == ["p1", "p2", "p2"]
    (refused,) = brokers.heard("alice", ProducerRefused)
    assert refused.producer == "p3"
    assert "producers_per_session" in refused.reason
    assert brokers.heard("bob", ProducerOpened)


def test_a_repeat_below_too_many_holes_is_refused(network: Any) -> None:
    brokers = alone(network)
    rows = Batch.from_rows([({"side": "buy"}, b"")])
    brokers.client("alice", "b", OpenProducer("p"))
    for number in range(1100):
        brokers.client("alice", "b", Publish("p", 2 * number, rows))
    brokers.advance(SECOND)
    assert len(brokers.heard("alice", PublishReceipt)) == 1100

    brokers.client("alice", "b", Publish("p", 0, rows))
    brokers.client("alice", "b", Publish("p", 2200, rows))
    brokers.advance(SECOND)

    (refused,) = brokers.heard("alice", PublishRefused)
    assert refused.first_sequence == 0
    assert "too many to remember" in refused.reason
    assert len(brokers.heard("alice", PublishReceipt)) == 1101
