"""Every message of the service survives the wire."""

from __future__ import annotations

import pytest

from penstock.content.codec.stream import encode
from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.message import Message
from penstock.overlay.wire import connection_decoder, log_decoder
from penstock.services.guaranteed import messages as m
from penstock.services.guaranteed.laws.rate_law import AlertReading
from penstock.services.guaranteed.staging import messages as staging
from penstock.services.registry import description

ROWS = Batch.from_rows([({"side": "buy", "n": 3}, b"payload"), ({}, b"")])
FRAME = Frame(10, 20, range(12, 14), ROWS)
READING = AlertReading(0.5, "sb", 0.25, 1234, "ib->sb", 99)

SPECIMENS: list[Message] = [
    m.Knowledge("p", FRAME),
    m.Knowledge("p", Frame(1, 2, final=True), "n > 3", True),
    m.Nack("p", ((1, 2), (5, 9)), m.LIVE_FILTER, 100, True),
    m.SubscriptionUpdate("pb", 3, True, ("a = 1",), ("b = 2",)),
    m.SubscriptionConfirmed("pb", 3, {"p": 1}, {"p": 0}),
    m.Withdrawal("pb"),
    m.Acknowledgement("pb", "sb", 1, 2, {"p": 7}, {"p": m.DurableClaim(5, "cursor 'c'")}),
    m.ClaimsSaved("pb", "sb", 1, 2),
    m.DownstreamCongestionQuery("p", 1, 2, 3),
    m.UpstreamCongestionAlert("p", 1, 2, READING, None),
    m.FullLinkReport("p", "a->b", 1000, 500.0),
    m.ThrottleNotice("p", 10.0, 20.0, 5, "rule", "cause"),
    m.OpenProducer("a", "p"),
    m.CloseProducer("p"),
    m.ProducerOpened("a", "p", 4),
    m.ProducerRefused("a", "reason"),
    m.Publish("a", 4, ROWS),
    m.PublishReceipt("a", 4, 2, 100, 5),
    m.PublishRefused("a", 4, 2, "reason"),
    m.Subscribe("s", "n > 3", True, "time", 5, {"p": 9}, 100),
    m.Subscribed("s", {"p": 9}),
    m.SubscribeRefused("s", "reason"),
    m.Delivery("s", "p", FRAME),
    m.Taken("s", 100),
    m.Consumed("s", {"p": 9}),
    m.Unsubscribe("s", True),
    m.Unsubscribed("s"),
    m.DescribeStreams(),
    m.StreamsDescribed({"p": m.StreamBounds("pb", 1, 9, 5)}, problem="problem"),
    m.MoveCursor("job", {"p": 9}, True),
    m.CursorMoved("job", {"p": 9}, problem="problem"),
    staging.StageRows("job", 3, "part", 7, ROWS),
    staging.RowsStaged("job", 3, "part", 7, True, problem="problem"),
    staging.CommitStages("job", 3, (("part", 7),), "p", 2, True),
    staging.StagesCommitted("job", 3, 7, problem="problem"),
    staging.DropStages("job", 3),
    staging.StagesDropped("job", 3, problem="problem"),
    staging.OpenEpoch("job", 3, "p"),
    staging.EpochOpened("job", 3, True, True, problem="problem"),
    staging.ListSinks(),
    staging.SinksListed((staging.SinkDescription("job", "p", 3, 7, True),), 9, 10),
    staging.ForgetSink("job"),
    staging.SinkForgotten("job", problem="problem"),
]


def same(one: object, other: object) -> bool:
    """Equal, where batches are equal if they hold the same rows."""
    if isinstance(one, Batch):
        return isinstance(other, Batch) and one.has_same_rows(other)
    return one == other


def test_there_is_a_specimen_of_every_message() -> None:
    described = description("guaranteed").messages
    spoken = [*described]
    spoken.remove(m.LogEntry)
    assert {type(specimen) for specimen in SPECIMENS} == set(spoken)


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: type(specimen).__name__)
def test_a_message_arrives_as_it_was_sent(specimen: Message) -> None:
    arrived = connection_decoder().decode(b"".join(encode(specimen)))

    assert type(arrived) is type(specimen)
    for name in specimen.__struct_fields__:
        assert same(getattr(specimen, name), getattr(arrived, name)), name


def test_a_log_entry_is_read_as_it_was_written() -> None:
    entry = m.LogEntry("a", 4, FRAME)

    assert log_decoder().decode(b"".join(encode(entry))) == entry
