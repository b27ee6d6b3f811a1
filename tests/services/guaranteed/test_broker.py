"""The service at one broker, through whole small networks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.why import WhyReply, WhyRequest
from penstock.services.guaranteed.messages import (
    Acknowledgement,
    Consumed,
    Delivery,
    Knowledge,
    Nack,
    OpenProducer,
    ProducerOpened,
    ProducerRefused,
    Publish,
    PublishReceipt,
    PublishRefused,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from penstock.services.guaranteed.why import Explanation


def alone(network: Any, **parameters: Any) -> Any:
    """One broker that does everything."""
    brokers = network([], {"b": ("p", "q")}, **parameters)
    brokers.advance(3 * SECOND)
    return brokers


def triangle(network: Any, **parameters: Any) -> Any:
    """Two ways from pb to sb, of which the one through i1 is taken."""
    brokers = network(
        [("i1", "pb"), ("i2", "pb"), ("i1", "sb"), ("i2", "sb")], {"pb": ("p",)}, **parameters
    )
    brokers.advance(3 * SECOND)
    return brokers


def sides(brokers: Any, session: str) -> list[str]:
    """The rows that a client was given."""
    return [
        row["side"]
        for delivery in brokers.heard(session, Delivery)
        for row in delivery.frame.batch.attribute_rows()
    ]


def test_one_broker_is_publisher_relay_and_edge_at_once(network: Any) -> None:
    brokers = alone(network)
    brokers.client("alice", "b", Subscribe("s", "side = 'buy'"))
    brokers.client("carol", "b", OpenProducer("carol", "q"))
    brokers.publish("carol", "b", 0, "buy", "sell", "buy")

    assert brokers.heard("carol", ProducerOpened) == [ProducerOpened("carol", "q", 0)]
    assert len(brokers.heard("carol", PublishReceipt)) == 1
    assert sides(brokers, "alice") == ["buy", "buy"]


def test_what_stays_inside_the_broker_is_never_sent(network: Any) -> None:
    brokers = alone(network)
    brokers.client("alice", "b", Subscribe("s", "TRUE"))

    assert not [entry for entry in brokers.spoken if entry[2].startswith("@")]


def test_a_producer_always_gets_the_same_pubend(network: Any) -> None:
    brokers = alone(network)
    for number in range(20):
        brokers.client("c", "b", OpenProducer(f"producer{number}"))
        brokers.client("c", "b", OpenProducer(f"producer{number}"))
    opened = [reply.pubend for reply in brokers.heard("c", ProducerOpened)]

    assert opened[::2] == opened[1::2]
    assert set(opened) == {"p", "q"}


def test_a_producer_of_a_pubend_that_is_elsewhere_is_refused(network: Any) -> None:
    brokers = alone(network)
    brokers.client("c", "b", OpenProducer("c", "nowhere"))

    (refusal,) = brokers.heard("c", ProducerRefused)
    assert refusal.reason == "broker 'b' hosts no pubend 'nowhere' (it hosts: p, q)"


def test_a_publication_without_a_producer_is_refused(network: Any) -> None:
    brokers = alone(network)
    brokers.publish("c", "b", 0, "buy")

    (refusal,) = brokers.heard("c", PublishRefused)
    assert "producer 'c' was not opened" in refusal.reason


@pytest.mark.parametrize(("pubend", "problem"), [("p", False), ("nowhere", True)])
def test_why_is_answered(network: Any, pubend: str, problem: bool) -> None:
    brokers = alone(network)
    brokers.client("c", "b", WhyRequest(pubend))
    (reply,) = brokers.heard("c", WhyReply)

    assert bool(reply.problem) is problem
    if not problem:
        account = msgspec.json.decode(reply.document, type=Explanation)
        assert (account.pubend, account.broker, account.throttled) == ("p", "b", False)


def test_a_failed_link_is_routed_around_and_nothing_is_lost(network: Any) -> None:
    brokers = triangle(network)
    brokers.client("alice", "sb", Subscribe("s", "TRUE"))
    brokers.client("carol", "pb", OpenProducer("carol"))
    brokers.publish("carol", "pb", 0, "one")
    brokers.lose = lambda source, target, message: isinstance(message, Knowledge) and target == "i1"
    brokers.publish("carol", "pb", 1, "two")
    brokers.lose = lambda source, target, message: False
    brokers.cut("pb", "i1")
    brokers.publish("carol", "pb", 2, "three")
    brokers.advance(5 * SECOND)

    assert sides(brokers, "alice") == ["one", "two", "three"]
    assert brokers.heard("i2", Nack)


def test_every_lost_piece_is_asked_for_until_it_comes(network: Any) -> None:
    brokers = triangle(network)
    brokers.client("alice", "sb", Subscribe("s", "TRUE"))
    brokers.client("carol", "pb", OpenProducer("carol"))
    count = 0

    def every_other(source: str, target: str, message: object) -> bool:
        nonlocal count
        count += isinstance(message, Knowledge | Nack)
        return isinstance(message, Knowledge | Nack) and count % 2 == 0

    brokers.lose = every_other
    for number in range(20):
        brokers.publish("carol", "pb", number, str(number))
        brokers.advance(30 * MILLISECOND)
    brokers.lose = lambda source, target, message: False
    brokers.advance(60 * SECOND)

    assert sides(brokers, "alice") == [str(number) for number in range(20)]


def test_the_claim_of_a_durable_subscription_is_saved_at_the_source(network: Any) -> None:
    brokers = triangle(network)
    brokers.client("alice", "sb", Subscribe("s", "TRUE", durable=True))
    brokers.client("carol", "pb", OpenProducer("carol"))
    brokers.publish("carol", "pb", 0, "one")
    (delivery,) = brokers.heard("alice", Delivery)
    brokers.client("alice", "sb", Consumed("s", {"p": delivery.frame.high}))
    brokers.advance(3 * SECOND)

    assert brokers.heard("pb", Acknowledgement)[-1].durable
    saved = msgspec.msgpack.decode(brokers.saved["pb"]["pubend/p/holds"])
    tick, holder = saved["sb"]
    assert tick >= delivery.frame.high
    assert holder == "durable subscription 's'"
    assert "durable/s" in brokers.saved["sb"]


def test_a_client_that_is_gone_leaves_nothing_waiting(network: Any) -> None:
    brokers = alone(network)
    brokers.client("alice", "b", Subscribe("s", "TRUE"))
    brokers.client("carol", "b", OpenProducer("carol", "p"))
    pubend = brokers.nodes["b"].services["guaranteed"].pubends["p"]
    pubend.control.admission.set_rate(1.0, brokers.now)
    brokers.publish("carol", "b", 0, "one")
    brokers.publish("carol", "b", 1, "two")
    assert pubend.waiting == 1

    brokers.leave("carol", "b")
    brokers.leave("alice", "b")
    assert pubend.waiting == 0
    assert brokers.nodes["b"].services["guaranteed"].edge.subscriptions() == []


def test_a_repeat_on_another_connection_is_stored_once(network: Any) -> None:
    brokers = alone(network)
    brokers.client("alice", "b", Subscribe("s", "TRUE"))
    rows = Batch.from_rows([({"side": "buy"}, b"")])
    for session in ("first", "second"):
        brokers.client(session, "b", OpenProducer("carol", "p"))
        brokers.client(session, "b", Publish("carol", 0, rows))

    assert sides(brokers, "alice") == ["buy"]
    assert brokers.heard("second", ProducerOpened) == [ProducerOpened("carol", "p", 1)]
    assert brokers.heard("second", PublishReceipt)[0].first_tick == 0


def test_after_unsubscribing_nothing_more_is_delivered_and_a_new_start_is_clean(
    network: Any,
) -> None:
    brokers = triangle(network)
    brokers.client("carol", "pb", OpenProducer("carol"))
    brokers.client("alice", "sb", Subscribe("s", "TRUE"))
    brokers.client("alice", "sb", Unsubscribe("s"))
    brokers.publish("carol", "pb", 0, "unheard")
    brokers.client("alice", "sb", Subscribe("s", "TRUE"))
    brokers.publish("carol", "pb", 1, "heard")
    brokers.advance(2 * SECOND)

    assert len(brokers.heard("alice", Subscribed)) == 2
    assert sides(brokers, "alice") == ["heard"]
