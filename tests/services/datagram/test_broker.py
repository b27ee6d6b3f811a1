"""A broker forwards, and checks what its own clients ask for."""

from __future__ import annotations

import msgspec
import pytest

from penstock.core.datagrams import SendBestEffort
from penstock.core.machine import Effect, Priority, Send
from penstock.core.message import Message
from penstock.core.why import Asker, WhyRequest
from penstock.services.datagram.admission import MAX_FILTERS_OF_SESSION
from penstock.services.datagram.broker import DatagramBroker
from penstock.services.datagram.messages import (
    CloseDatagram,
    DatagramOpened,
    DatagramsSubscribed,
    DatagramWhyAnswer,
    DatagramWhyQuestion,
    EchoRequest,
    Feedback,
    Interest,
    OpenDatagram,
    SourceAnnouncement,
    SubscribeDatagrams,
    UnsubscribeDatagrams,
)

from .conftest import NOW, feedback, publication

SELECTOR = "kind = 'wanted'"


def broker(name: str = "near") -> DatagramBroker:
    """A broker with a neighbour on each side, ``left`` and ``right``."""
    made = DatagramBroker(name, now=NOW)
    made.link_up("left", NOW)
    made.link_up("right", NOW)
    made.routes_changed({}, {"left": "left", "right": "right", "far": "right"}, NOW)
    return made


def tell(made: DatagramBroker, link: str, *messages: Message) -> list[Effect]:
    """What the last of these messages leads to."""
    effects: list[Effect] = []
    for message in messages:
        effects = made.received(link, message, NOW)
        made.check_invariants()
    return effects


def control(link: str, message: Message) -> Send:
    return Send(link, message, Priority.CONTROL)


def test_the_first_publisher_makes_the_broker_a_source() -> None:
    announcement = SourceAnnouncement("near", NOW, 1, True)
    assert tell(broker(), "client/1", OpenDatagram("p", True)) == [
        Send("client/1", DatagramOpened("p", "p@near")),
        control("left", announcement),
        control("right", announcement),
    ]


def test_a_subscriber_alone_does_not() -> None:
    assert tell(broker(), "client/1", OpenDatagram("s", False)) == [
        Send("client/1", DatagramOpened("s", "s@near"))
    ]


@pytest.mark.parametrize("name", ["", "a@b", "x" * 200])
def test_a_bad_name_is_refused(name: str) -> None:
    (effect,) = tell(broker(), "client/1", OpenDatagram(name, True))
    assert isinstance(effect, Send)
    assert effect.message.problem


def test_a_name_is_used_once_and_free_again_afterwards() -> None:
    made = broker()
    tell(made, "client/1", OpenDatagram("p", False))
    (refused,) = tell(made, "client/2", OpenDatagram("p", False))
    assert isinstance(refused, Send)
    assert "choose another name" in refused.message.problem
    tell(made, "client/1", CloseDatagram())
    assert tell(made, "client/2", OpenDatagram("p", False)) == [
        Send("client/2", DatagramOpened("p", "p@near"))
    ]


def test_interest_travels_towards_a_source_reduced_by_covering() -> None:
    made = broker()
    tell(made, "right", SourceAnnouncement("far", 1, 1, True))
    tell(made, "client/1", OpenDatagram("s", False))
    assert tell(made, "client/1", SubscribeDatagrams(1, SELECTOR)) == [
        Send("client/1", DatagramsSubscribed(1)),
        control("right", Interest("far", (SELECTOR,), ())),
    ]
    assert tell(made, "client/1", SubscribeDatagrams(2, f"{SELECTOR} AND n = 1")) == [
        Send("client/1", DatagramsSubscribed(2))
    ]
    assert tell(made, "client/1", UnsubscribeDatagrams(1)) == [
        control("right", Interest("far", (f"{SELECTOR} AND n = 1",), (SELECTOR,)))
    ]


def test_interest_is_registered_anew_on_another_way() -> None:
    made = broker()
    tell(made, "right", SourceAnnouncement("far", 1, 1, True))
    tell(made, "client/1", OpenDatagram("s", False), SubscribeDatagrams(1, SELECTOR))
    assert made.routes_changed({}, {"far": "left"}, NOW) == [
        control("right", Interest("far", (), (), anew=True)),
        control("left", Interest("far", (SELECTOR,), (), anew=True)),
    ]


def test_a_publication_goes_where_it_is_wanted_and_not_back() -> None:
    made = broker()
    tell(made, "client/1", OpenDatagram("p", True))
    tell(made, "client/2", OpenDatagram("s", False), SubscribeDatagrams(1, SELECTOR))
    tell(made, "right", Interest("near", (SELECTOR,), ()))
    message = publication(1)
    assert tell(made, "client/1", message) == [
        SendBestEffort("right", message),
        SendBestEffort("client/2", message),
    ]
    unwanted = publication(2, attributes={"kind": "other"})
    assert tell(made, "client/1", unwanted) == []


def test_a_neighbours_publication_is_taken_only_from_the_way_to_its_source() -> None:
    made = broker()
    tell(made, "right", SourceAnnouncement("far", 1, 1, True))
    tell(made, "client/2", OpenDatagram("s", False), SubscribeDatagrams(1, SELECTOR))
    message = msgspec.structs.replace(publication(1), source="p@far")
    assert tell(made, "right", message) == [SendBestEffort("client/2", message)]
    assert tell(made, "left", message) == []
    assert made.refused_messages == 1


def test_a_client_publishes_only_as_itself_and_only_if_it_said_so() -> None:
    made = broker()
    tell(made, "client/2", OpenDatagram("s", False), SubscribeDatagrams(1, SELECTOR))
    tell(made, "client/1", OpenDatagram("x", True))
    assert tell(made, "client/1", publication(1)) == []
    own = msgspec.structs.replace(publication(1), source="s@near")
    assert tell(made, "client/2", own) == []
    assert made.refused_messages == 2


def test_a_report_speaks_only_of_what_its_sender_subscribes_to() -> None:
    made = broker()
    tell(made, "client/1", OpenDatagram("s", False), SubscribeDatagrams(1, SELECTOR))
    honest = msgspec.structs.replace(feedback(SELECTOR, 5.0, sender="s@near"), to="p@far")
    assert tell(made, "client/1", honest) == [SendBestEffort("right", honest)]
    forged = msgspec.structs.replace(honest, requests=feedback("", 1.0).requests)
    (passed,) = tell(made, "client/1", forged)
    assert isinstance(passed, SendBestEffort)
    assert isinstance(passed.message, Feedback)
    assert passed.message.requests == ()
    assert tell(made, "client/1", msgspec.structs.replace(honest, sender="t@near")) == []
    assert made.refused_messages == 2


def test_an_echo_finds_its_client_and_a_lost_one_is_dropped() -> None:
    made = broker()
    tell(made, "client/1", OpenDatagram("p", True))
    echo = EchoRequest("p@near", "s@far", NOW)
    assert tell(made, "right", echo) == [SendBestEffort("client/1", echo)]
    assert tell(made, "right", EchoRequest("gone@near", "s@far", NOW)) == []
    assert tell(made, "right", EchoRequest("x@nowhere", "s@far", NOW)) == []
    assert tell(made, "right", EchoRequest("x@far", "s@far", NOW)) == []


def test_subscriptions_are_refused_with_the_reason() -> None:
    made = broker()
    (effect,) = tell(made, "client/1", SubscribeDatagrams(1, SELECTOR))
    assert isinstance(effect, Send)
    assert "open" in effect.message.problem
    tell(made, "client/1", OpenDatagram("s", False))
    for text in ("kind =", "x = '" + "y" * 600 + "'"):
        (effect,) = tell(made, "client/1", SubscribeDatagrams(1, text))
        assert isinstance(effect, Send)
        assert effect.message.problem
    for number in range(MAX_FILTERS_OF_SESSION):
        made.received("client/1", SubscribeDatagrams(number, SELECTOR), NOW)
    (effect,) = tell(made, "client/1", SubscribeDatagrams(9999, SELECTOR))
    assert isinstance(effect, Send)
    assert "most allowed" in effect.message.problem


def test_a_link_that_goes_down_wants_nothing_any_more() -> None:
    made = broker()
    tell(made, "client/1", OpenDatagram("p", True))
    tell(made, "right", Interest("near", (SELECTOR,), ()))
    made.link_down("right", NOW)
    assert tell(made, "client/1", publication(1)) == []


def test_an_announcement_is_passed_on_once() -> None:
    made = broker()
    announcement = SourceAnnouncement("far", 1, 1, True)
    assert control("left", announcement) in tell(made, "right", announcement)
    assert tell(made, "left", announcement) == []
    assert tell(made, "right", SourceAnnouncement("far", 1, 0, False)) == []


def test_a_new_neighbour_is_told_the_sources() -> None:
    made = broker()
    tell(made, "right", SourceAnnouncement("far", 1, 1, True))
    assert made.link_up("new", NOW) == [control("new", SourceAnnouncement("far", 1, 1, True))]


ASKER = Asker("client/2", WhyRequest("p", request=1), "datagram")


def test_why_is_passed_to_the_publisher_and_back() -> None:
    made = broker()
    tell(made, "client/1", OpenDatagram("p", True))
    assert made.why("p", ASKER, NOW) == [Send("client/1", DatagramWhyQuestion(1))]
    assert tell(made, "client/3", DatagramWhyAnswer(1, b"{}")) == []
    assert tell(made, "client/1", DatagramWhyAnswer(1, b"{}")) == [ASKER.told(b"{}")]


def test_why_of_a_publisher_that_is_not_here_or_leaves_says_so() -> None:
    made = broker()
    assert made.why("p", ASKER, NOW) is None
    tell(made, "client/1", OpenDatagram("p", True))
    assert made.known_names() == {"datagram clients": ["p"]}
    made.why("p@near", ASKER, NOW)
    told = made.session_closed("client/1", NOW)
    assert ASKER.refused("the publisher has disconnected") in told
