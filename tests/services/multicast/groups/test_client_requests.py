"""What a broker answers to its clients; the broker's own table leads to these requests."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.core.machine import Effect, Send
from penstock.core.message import Message
from penstock.core.why import Asker, WhyReply, WhyRequest
from penstock.services.multicast.broker import MulticastBroker
from penstock.services.multicast.messages import (
    AskGroups,
    CloseGroupSender,
    GroupJoined,
    GroupLeft,
    GroupsAnswer,
    GroupSenderOpened,
    GroupTaken,
    GroupView,
    JoinGroup,
    LeaveGroup,
    MembershipChange,
    MembershipTold,
    OpenGroupSender,
    SendToGroups,
)
from penstock.services.multicast.parameters import MulticastParameters

from ..conftest import Known

NOW = 1_700_000_000 * SECOND
BATCH = Batch.from_rows([({}, bytes(500))])


class Broker:
    """Broker a, whose neighbour is b."""

    def __init__(self, topology: Known, **parameters: Any) -> None:
        self.multicast = MulticastBroker(
            "a", MulticastParameters(**parameters), topology, queued_bytes={}, now=NOW
        )
        self.multicast.link_up("b", NOW)
        self.multicast.overlay_settled(NOW)

    def tell(self, session: str, message: Message) -> list[tuple[str, Message]]:
        return _sent(self.multicast.received(session, message, NOW))


def _sent(effects: list[Effect]) -> list[tuple[str, Message]]:
    return [(each.link, each.message) for each in effects if isinstance(each, Send)]


@pytest.fixture
def broker(line: Known) -> Broker:
    return Broker(line)


def test_joining_answers_floods_and_gives_a_view(broker: Broker) -> None:
    assert broker.tell("client/1", JoinGroup("m", "g", 1000)) == [
        ("client/1", GroupJoined("m", "g")),
        ("b", MembershipChange("a", NOW, 1, "g", "m", True)),
        ("client/1", GroupView("m", "g", 1, ("m@a",))),
    ]
    ((_, refused),) = broker.tell("client/1", JoinGroup("m", "g", 1000))
    assert isinstance(refused, GroupJoined)
    assert "already" in refused.problem


def test_leaving_is_answered_even_by_a_client_that_was_no_member(broker: Broker) -> None:
    assert broker.tell("client/1", LeaveGroup("m", "g")) == [("client/1", GroupLeft("m", "g"))]
    broker.tell("client/1", JoinGroup("m", "g", 1000))
    broker.tell("client/2", LeaveGroup("m", "g"))
    assert broker.multicast.groups.exists("g"), "only its own session may remove it"
    told = broker.tell("client/1", LeaveGroup("m", "g"))
    assert told[-1] == ("client/1", GroupLeft("m", "g"))
    assert not broker.multicast.groups.exists("g")


def test_the_first_and_the_last_sender_are_flooded(broker: Broker) -> None:
    first = broker.tell("client/1", OpenGroupSender("s"))
    assert [link for link, _ in first] == ["b", "client/1"]
    assert first[-1] == ("client/1", GroupSenderOpened("s"))
    assert broker.tell("client/1", OpenGroupSender("t")) == [("client/1", GroupSenderOpened("t"))]
    assert broker.tell("client/1", CloseGroupSender("s")) == []
    ((link, change),) = broker.tell("client/1", CloseGroupSender("t"))
    assert link == "b"
    assert isinstance(change, MembershipChange)
    assert not change.joined


def test_a_sender_beyond_the_limit_is_refused(line: Known) -> None:
    broker = Broker(line, max_senders_per_client=1)
    broker.tell("client/1", OpenGroupSender("s"))
    ((_, refused),) = broker.tell("client/1", OpenGroupSender("t"))
    assert isinstance(refused, GroupSenderOpened)
    assert "multicast.max_senders_per_client" in refused.problem
    assert len(broker.multicast.senders) == 1


def test_taking_continues_a_stream_that_waited(line: Known) -> None:
    broker = Broker(line, session_window_bytes=100)
    broker.tell("b", MembershipTold())
    broker.tell("client/1", JoinGroup("m", "g", 100))
    broker.tell("client/2", OpenGroupSender("s"))
    for number in range(2):
        broker.tell("client/2", SendToGroups("s", ("g",), number, BATCH))
    assert broker.multicast.inbound.delivered_rows == 1
    broker.tell("client/1", GroupTaken("m", 1 << 20))
    assert broker.multicast.inbound.delivered_rows == 2


def test_a_closed_session_leaves_its_groups_and_closes_its_senders(broker: Broker) -> None:
    broker.tell("client/1", JoinGroup("m", "g", 1000))
    broker.tell("client/1", OpenGroupSender("s"))
    told = _sent(broker.multicast.session_closed("client/1", NOW))
    changes = [message for _, message in told if isinstance(message, MembershipChange)]
    assert [(each.member, each.joined) for each in changes] == [("m", False), ("a", False)]
    assert len(broker.multicast.senders) == 0


def test_questions_about_groups_are_answered_as_json(broker: Broker) -> None:
    broker.tell("client/1", JoinGroup("m", "g", 1000))
    ((_, answer),) = broker.tell("client/2", AskGroups(request=7))
    assert isinstance(answer, GroupsAnswer)
    assert answer.request == 7
    assert msgspec.json.decode(answer.document) == {"g": ["m@a"]}


def test_why_names_the_clients_that_send_if_the_name_is_unknown(broker: Broker) -> None:
    broker.tell("client/1", OpenGroupSender("alice/1"))
    asker = Asker("client/2", WhyRequest("alice", request=1), "multicast")
    assert broker.multicast.why("bob", asker, NOW) is None
    assert broker.multicast.known_names() == {"clients that send to groups": ["alice"]}
    told = broker.multicast.why("alice", asker, NOW)
    assert told is not None
    ((_, answer),) = _sent(told)
    assert isinstance(answer, WhyReply)
    senders = msgspec.json.decode(answer.document)["senders"]
    assert [each["sender"] for each in senders] == ["alice/1"]
