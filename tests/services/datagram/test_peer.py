"""A client: opening, losing the connection, and datagrams that nobody should have sent."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.content.selectors.error import SelectorError
from penstock.core.clock import SECOND
from penstock.core.datagrams import SendBestEffort
from penstock.core.machine import DeadlineReached, LinkDown, LinkUp, Priority, Received, Send
from penstock.core.message import Message
from penstock.services.datagram.messages import (
    DatagramOpened,
    DatagramsSubscribed,
    DatagramWhyAnswer,
    DatagramWhyQuestion,
    EchoReply,
    EchoRequest,
    Feedback,
    FlowRequest,
    FlowTag,
    OpenDatagram,
    Publication,
    SubscribeDatagrams,
    UnsubscribeDatagrams,
)
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.peer import (
    BROKER,
    DatagramPeer,
    DeliverPublication,
    NotOpen,
    PeerOpened,
    PeerSubscribed,
    PublicationSettled,
)

from .conftest import NOW, feedback, publication


def peer(*, opened: bool = True) -> DatagramPeer:
    made = DatagramPeer("p", DatagramParameters(), publishes=True)
    made.subscribe(1, "kind='wanted'")
    if opened:
        made.handle(LinkUp(BROKER), now=NOW)
        made.handle(Received(BROKER, DatagramOpened("p", "p@near")), now=NOW)
    return made


def control(message: Message) -> Send:
    return Send(BROKER, message, Priority.CONTROL)


def test_opening_makes_the_subscriptions_again_on_every_connection() -> None:
    made = peer(opened=False)
    for _ in range(2):
        assert made.handle(LinkUp(BROKER), now=NOW) == [control(OpenDatagram("p", True))]
        opened = made.handle(Received(BROKER, DatagramOpened("p", "p@near")), now=NOW)
        subscribe = SubscribeDatagrams(1, "kind = 'wanted'")
        assert opened == [PeerOpened("p@near"), control(subscribe)]
        made.handle(LinkDown(BROKER), now=NOW)


def test_a_refusal_is_told() -> None:
    made = peer(opened=False)
    told = made.handle(Received(BROKER, DatagramOpened("p", "", "taken")), now=NOW)
    assert told == [PeerOpened("", "taken")]
    with pytest.raises(NotOpen):
        made.publish(1, {}, b"", now=NOW)


def test_a_wanted_message_is_delivered_with_its_filters() -> None:
    made = peer()
    message = publication(1)
    assert made.handle(Received(BROKER, message), now=NOW) == [DeliverPublication(message, (1,))]
    other = publication(2, attributes={"kind": "other"})
    assert made.handle(Received(BROKER, other), now=NOW) == []


def test_what_waits_is_given_up_when_the_connection_breaks() -> None:
    made = peer()
    report = msgspec.structs.replace(feedback("", 1.0), to="p@near")
    made.handle(Received(BROKER, report), now=NOW)
    assert isinstance(made.publish(1, {}, b"", now=NOW)[0], SendBestEffort)
    assert made.publish(2, {}, b"", now=NOW) == []
    assert made.handle(LinkDown(BROKER), now=NOW) == [PublicationSettled(2, sent=False)]
    assert made.next_deadline() is None


def test_what_waits_goes_in_its_time() -> None:
    made = peer()
    report = msgspec.structs.replace(feedback("", 1.0), to="p@near")
    made.handle(Received(BROKER, report), now=NOW)
    made.publish(1, {}, b"", now=NOW)
    made.publish(2, {}, b"", now=NOW)
    due = made.next_deadline()
    assert due is not None
    sent, settled = made.handle(DeadlineReached(), now=due)
    assert isinstance(sent, SendBestEffort)
    assert settled == PublicationSettled(2, sent=True)


def test_a_report_for_somebody_else_changes_nothing() -> None:
    made = peer()
    report = msgspec.structs.replace(feedback("", 1.0), to="somebody@near")
    made.handle(Received(BROKER, report), now=NOW)
    assert made.publishing is not None
    assert not made.publishing.table.flows


def test_unsubscribing_is_told_once() -> None:
    made = peer()
    assert made.unsubscribe(1) == [control(UnsubscribeDatagrams(1))]
    assert made.unsubscribe(1) == []


def test_bad_subscriptions_are_refused_here() -> None:
    made = peer()
    with pytest.raises(SelectorError):
        made.subscribe(2, "kind =")
    with pytest.raises(ValueError, match="priority"):
        made.subscribe(2, "", priority=0)


def test_the_broker_says_whether_a_subscription_is_in_force() -> None:
    told = peer().handle(Received(BROKER, DatagramsSubscribed(1, "no")), now=NOW)
    assert told == [PeerSubscribed(1, "no")]


def test_a_publisher_explains_itself() -> None:
    made = peer()
    report = msgspec.structs.replace(feedback("kind = 'a'", 5.0), to="p@near")
    made.handle(Received(BROKER, report), now=NOW)
    (answer,) = made.handle(Received(BROKER, DatagramWhyQuestion(7)), now=NOW)
    assert isinstance(answer, Send)
    assert isinstance(answer.message, DatagramWhyAnswer)
    document = msgspec.json.decode(answer.message.document)
    assert document["flows"][0]["limiting_receiver"] == "s@far"
    assert document["flows"][0]["quota_msgs_per_s"] == 5.0
    assert document["flows"][0]["round_trip_s"] == 0.1


NUMBERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats()
ADDRESSES = st.sampled_from(["p@near", "q@far", "", "@", "p@"])
REQUESTS = st.lists(
    st.builds(
        FlowRequest, NUMBERS, st.sampled_from(["", "kind = 'a'", "kind =", "n = 1"]), FLOATS, FLOATS
    ),
    max_size=5,
).map(tuple)
TAGS = st.lists(st.builds(FlowTag, ADDRESSES, NUMBERS, NUMBERS, NUMBERS), max_size=4).map(tuple)
GARBLED = st.one_of(
    st.builds(Feedback, ADDRESSES, ADDRESSES, NUMBERS, FLOATS, NUMBERS, REQUESTS),
    st.builds(EchoRequest, ADDRESSES, ADDRESSES, NUMBERS),
    st.builds(EchoReply, ADDRESSES, ADDRESSES, NUMBERS, NUMBERS),
    st.builds(
        Publication,
        ADDRESSES,
        NUMBERS,
        NUMBERS,
        NUMBERS,
        FLOATS,
        st.binary(max_size=80),
        TAGS,
        st.just({"kind": "wanted"}),
        st.just(b""),
    ),
)


@given(st.lists(st.tuples(GARBLED, st.integers(0, 3 * SECOND)), max_size=30))
@example([(Feedback("p@near", "p@near", -(2**63), 0.0, 0, (FlowRequest(0, "", 0.0, 0.0),)), 0)])
@settings(deadline=None, max_examples=60)
def test_whatever_arrives_nothing_breaks_and_no_flow_falls_below_the_floor(
    arrivals: list[tuple[Message, int]],
) -> None:
    made, now = peer(), NOW
    for message, passed in arrivals:
        now += passed
        made.handle(Received(BROKER, message), now=now)
        due = made.next_deadline()
        if due is not None and due <= now:
            made.handle(DeadlineReached(), now=now)
        made.check_invariants()
    assert made.publishing is not None
    sent = made.publish(1, {"kind": "a", "n": 1}, b"", now=now)
    if not sent:
        # However many flows hold it, each lets a message out within a second.
        made.handle(DeadlineReached(), now=now + SECOND)
        assert made.publishing.waiting_messages == 0
