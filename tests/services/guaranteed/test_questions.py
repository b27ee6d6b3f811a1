"""What clients may ask a broker: why something is slow, and which streams there are."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.core.why import WhyReply, WhyRequest
from penstock.services.guaranteed.edge.cursor_why import CursorExplanation
from penstock.services.guaranteed.edge.subscription_why import SubscriptionExplanation
from penstock.services.guaranteed.job_names import reader_name
from penstock.services.guaranteed.messages import (
    DescribeStreams,
    MoveCursor,
    OpenProducer,
    Publish,
    StreamsDescribed,
    Subscribe,
)
from penstock.services.guaranteed.why_text import why_text


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


def why_cursor(brokers: Any, name: str) -> tuple[CursorExplanation, str]:
    """The explanation, and its text."""
    brokers.client("asker", "b", WhyRequest(name))
    document = brokers.heard("asker", WhyReply)[-1].document
    return msgspec.json.decode(document, type=CursorExplanation), why_text(
        msgspec.json.decode(document)
    )


def test_a_cursor_tells_how_far_behind_its_job_is_and_what_it_does(network: Any) -> None:
    brokers = alone(network)
    start = brokers.now
    brokers.client("job", "b", MoveCursor("totals", {"p": start}))
    brokers.advance(10 * SECOND)
    found, text = why_cursor(brokers, "totals")
    assert found.behind_s == {"p": 0.0}
    assert "totals: the job of this cursor has processed everything" in text

    brokers.client("alice", "b", OpenProducer("a", "p"))
    brokers.client("alice", "b", Publish("a", 0, Batch.from_rows([({"n": 1}, b"")])))
    brokers.advance(5 * SECOND)
    found, text = why_cursor(brokers, "totals")
    assert 9.9 < found.behind_s["p"] < 10.1
    assert found.moved_before_s is not None
    assert 14.9 < found.moved_before_s < 15.1
    assert "no reader of its job is connected" in found.cause
    assert "the job of this cursor is 10.0 s behind" in text
    assert "p: 10.0 s behind" in text

    reader = f"{reader_name('totals')}/1"
    ends = {"p": brokers.now}
    brokers.client("reads", "b", Subscribe(reader, "TRUE", positions={"p": start}, ends=ends))
    found, text = why_cursor(brokers, "totals")
    assert [each.session for each in found.readers] == ["reads"]
    assert "its job is reading" in found.cause
    assert "reader:     reads: it reads an interval of the past" in text

    brokers.client("job", "b", MoveCursor("totals", {"p": brokers.now}))
    brokers.advance(SECOND)
    assert why_cursor(brokers, "totals")[0].behind_s == {"p": 0.0}
