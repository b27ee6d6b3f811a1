"""What clients may ask a broker: why something is slow, and which streams there are."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.core.clock import SECOND
from penstock.core.why import WhyReply, WhyRequest
from penstock.services.guaranteed.edge.subscription_why import SubscriptionExplanation
from penstock.services.guaranteed.messages import (
    DescribeStreams,
    OpenProducer,
    StreamsDescribed,
    Subscribe,
)


def alone(network: Any) -> Any:
    brokers = network([], {"b": ("p",)})
    brokers.advance(3 * SECOND)
    return brokers


def test_a_connected_subscription_is_explained(network: Any) -> None:
    brokers = alone(network)
    brokers.client("alice", "b", Subscribe("s", "TRUE"))
    brokers.client("c", "b", WhyRequest("s"))

    (reply,) = brokers.heard("c", WhyReply)
    explained = msgspec.json.decode(reply.document, type=SubscriptionExplanation)
    assert [reader.session for reader in explained.readers] == ["alice"]


def test_a_durable_subscription_without_a_reader_is_explained(network: Any) -> None:
    brokers = alone(network)
    brokers.client("alice", "b", Subscribe("s", "TRUE", durable=True))
    brokers.leave("alice", "b")
    brokers.advance(2 * SECOND)
    brokers.client("c", "b", WhyRequest("s"))

    (reply,) = brokers.heard("c", WhyReply)
    explained = msgspec.json.decode(reply.document, type=SubscriptionExplanation)
    assert (explained.readers, explained.absent_for_s) == ([], 2.0)


def test_an_unknown_name_is_told_with_what_there_is(network: Any) -> None:
    brokers = alone(network)
    brokers.client("c", "b", WhyRequest("nothing"))

    (reply,) = brokers.heard("c", WhyReply)
    assert "knows no 'nothing': its pubends are p" in reply.problem


def test_streams_are_described_with_the_end_of_their_rows_where_they_are_hosted(
    network: Any,
) -> None:
    brokers = alone(network)
    brokers.client("alice", "b", Subscribe("s", "TRUE"))
    brokers.client("carol", "b", OpenProducer("carol"))
    brokers.publish("carol", "b", 0, "buy")
    published_to = brokers.now + 1
    brokers.advance(3 * SECOND)
    brokers.client("c", "b", DescribeStreams())

    (reply,) = brokers.heard("c", StreamsDescribed)
    bounds = reply.streams["p"]
    assert (bounds.broker, bounds.rows_end) == ("b", published_to)
    assert bounds.earliest < bounds.rows_end < bounds.head


def test_without_a_subscriber_a_broker_knows_no_stream(network: Any) -> None:
    brokers = alone(network)
    brokers.client("c", "b", DescribeStreams())

    (reply,) = brokers.heard("c", StreamsDescribed)
    assert reply == StreamsDescribed({}, problem="broker 'b' knows of no stream yet")
