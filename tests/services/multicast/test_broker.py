"""The service end to end in the simulator: order, trees, views, bad input, slow readers."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND
from penstock.core.machine import (
    CloseSession,
    DeadlineReached,
    LinkUp,
    QueuesMeasured,
    Received,
    Send,
    SessionClosed,
)
from penstock.overlay.node import BrokerNode, node_config
from penstock.services.multicast.broker import MulticastBroker
from penstock.services.multicast.messages import (
    GroupDelivery,
    GroupJoined,
    GroupSenderOpened,
    GroupSendReceipt,
    GroupSendRefused,
    GroupTaken,
    GroupView,
    JoinGroup,
    LeaveGroup,
    Multicast,
    OpenGroupSender,
    SendToGroups,
)
from penstock.services.multicast.parameters import MulticastParameters

Overlay = Any
NOW = 1_700_000_000 * SECOND
T_MIN = 50 * MILLISECOND
WINDOW = 1 << 20


def batch(size_bytes: int = 100) -> Batch:
    """One row."""
    return Batch.from_rows([({}, bytes(size_bytes))])


class Alone:
    """One broker without neighbours, and the messages that its clients are told."""

    def __init__(self, **parameters: Any) -> None:
        config = node_config("a", multicast=MulticastParameters(**parameters))
        self.node = BrokerNode(config, saved={}, logs={}, now=NOW)
        self.now = NOW
        self.node.start(now=NOW)
        self.closed: list[CloseSession] = []

    def tell(self, session: str, message: Any) -> list[Any]:
        return self.told(self.node.handle(Received(session, message), now=self.now))

    def told(self, effects: list[Any]) -> list[Any]:
        self.closed += [each for each in effects if isinstance(each, CloseSession)]
        return [(each.link, each.message) for each in effects if isinstance(each, Send)]

    @property
    def multicast(self) -> MulticastBroker:
        return self.node.services["multicast"]


def test_the_first_zero_price_does_not_wait_for_a_deadline() -> None:
    """A measurement that nothing waits any more sets the price at once, at T_min."""
    config = node_config("a", {"b": 1}, multicast=MulticastParameters(law="paper"))
    node = BrokerNode(config, saved={}, logs={}, now=NOW)
    node.start(now=NOW)
    node.handle(LinkUp("b"), now=NOW)
    for number, waiting in enumerate(({"b": 50_000}, {}, {"b": 50_000}), 1):
        node.handle(QueuesMeasured(waiting), now=NOW + number * T_MIN)
        assert (node.services["multicast"].pricing.own_price("b") > 0) == bool(waiting)


def test_messages_reach_every_member_once_in_order(
    overlay: type[Overlay], diamond: dict[Any, int]
) -> None:
    run = overlay(1, diamond)
    run.member("m-d", "news", "d")
    run.member("m-e", "news", "e")
    run.member("m-a", "news", "a")
    run.sender("s-a", "a", "news")
    run.sender("s-e", "e", "news")
    run.finish()
    for member in run.members:
        for sender in run.senders:
            run.judge(member, sender)


def test_a_message_crosses_each_link_of_the_tree_once(
    overlay: type[Overlay], diamond: dict[Any, int]
) -> None:
    run = overlay(1, diamond)
    for name, broker in (("one", "d"), ("two", "d"), ("three", "e"), ("four", "b")):
        run.member(name, "news", broker)
    crossed: dict[tuple[str, str], int] = {}
    send = run.world._send

    def count(name: str, effect: Send) -> None:
        if isinstance(effect.message, Multicast):
            key = (name, effect.link)
            crossed[key] = crossed.get(key, 0) + 1
        send(name, effect)

    run.world._send = count
    run.sender("s", "a", "news", total=10)
    run.finish()
    assert crossed == {("a", "b"): 10, ("b", "d"): 10, ("d", "e"): 10}


def test_a_member_of_two_groups_gets_a_message_for_both_once(
    overlay: type[Overlay], diamond: dict[Any, int]
) -> None:
    run = overlay(1, diamond)
    alone = Alone()
    alone.tell("client/1", JoinGroup("m", "x", WINDOW))
    alone.tell("client/1", JoinGroup("m", "y", WINDOW))
    alone.tell("client/2", OpenGroupSender("s"))
    told = alone.tell("client/2", SendToGroups("s", ("x", "y"), 0, batch()))
    deliveries = [message for _, message in told if isinstance(message, GroupDelivery)]
    assert [each.member for each in deliveries] == ["m"]
    run.member("m", "x", "d")
    run.sender("s", "a", "x", "y", total=5)
    run.finish()
    run.judge("m", "s")


def test_an_inbox_is_reached_by_the_name_of_its_client(
    overlay: type[Overlay], diamond: dict[Any, int]
) -> None:
    run = overlay(1, diamond)
    run.member("bob", "@bob", "e")
    run.member("eve", "@eve", "d")
    run.sender("s", "a", "@bob", total=5)
    run.finish()
    run.judge("bob", "s")
    assert run.seen["eve"] == {}


def test_views_list_everybody_and_are_numbered(
    overlay: type[Overlay], diamond: dict[Any, int]
) -> None:
    run = overlay(1, diamond)
    first = run.member("first", "news", "e")
    run.world.start()
    run.world.run_for(SECOND)
    assert first.reader.view == GroupView("first", "news", 1, ("first@e",))
    run.member("second", "news", "a")
    run.world.run_for(SECOND)
    assert first.reader.view == GroupView("first", "news", 2, ("first@e", "second@a"))
    run.world.leave("second")
    run.world.run_for(SECOND)
    assert first.reader.view == GroupView("first", "news", 3, ("first@e",))
    assert [view.view for view in first.reader.views] == [1, 2, 3]


def test_members_of_a_broker_that_is_away_too_long_have_left(
    overlay: type[Overlay], diamond: dict[Any, int]
) -> None:
    run = overlay(1, diamond)
    near = run.member("near", "news", "a")
    run.member("far", "news", "e")
    run.world.start()
    run.world.run_for(SECOND)
    run.world.cut("d", "e")
    run.world.run_for(5 * SECOND)
    assert near.reader.view is not None
    assert near.reader.view.members == ("far@e", "near@a"), "a short cut is no departure"
    run.world.run_for(6 * SECOND)
    assert near.reader.view.members == ("near@a",)
    run.world.mend("d", "e")
    run.world.run_for(SECOND)
    assert near.reader.view.members == ("far@e", "near@a")


def test_after_a_long_absence_a_stream_goes_on(
    overlay: type[Overlay], diamond: dict[Any, int]
) -> None:
    run = overlay(3, diamond)
    run.member("far", "news", "e")
    run.sender("s", "a", "news", total=40, every_ns=SECOND // 2)
    run.world.start()
    run.world.run_for(5 * SECOND)
    run.world.cut("d", "e")
    run.world.run_for(12 * SECOND)
    run.world.mend("d", "e")
    run.finish()
    seen = run.seen["far"]["s"]
    assert seen == sorted(set(seen))
    assert seen[0] == 0, "what came before the cut"
    assert seen[-1] == 39, "what came after it"
    assert len(seen) < 40, "whoever was away for longer than departure_ns has missed something"


def test_a_group_without_members_is_an_error_only_if_asked() -> None:
    alone = Alone()
    assert alone.tell("client/1", OpenGroupSender("s")) == [("client/1", GroupSenderOpened("s"))]
    ((_, receipt),) = alone.tell("client/1", SendToGroups("s", ("void",), 0, batch()))
    assert receipt == GroupSendReceipt("s", 0, 1, 0, 0)
    ((_, refusal),) = alone.tell("client/1", SendToGroups("s", ("void",), 1, batch(), True))
    assert refusal == GroupSendRefused("s", 1, 1, "group 'void' has no members")


def test_a_receipt_for_members_of_the_same_broker_does_not_wait() -> None:
    alone = Alone()
    alone.tell("client/1", JoinGroup("m", "g", WINDOW))
    alone.tell("client/2", OpenGroupSender("s"))
    for number in range(3):
        told = alone.tell("client/2", SendToGroups("s", ("g",), number, batch()))
        receipts = [message for _, message in told if isinstance(message, GroupSendReceipt)]
        assert [receipt.first_sequence for receipt in receipts] == [number]


def test_a_sender_must_be_open_in_its_session() -> None:
    alone = Alone()
    ((_, refusal),) = alone.tell("client/1", SendToGroups("s", ("g",), 0, batch()))
    assert "not open" in refusal.reason
    alone.tell("client/1", OpenGroupSender("s"))
    ((_, refusal),) = alone.tell("client/2", SendToGroups("s", ("g",), 0, batch()))
    assert "not open" in refusal.reason


def test_a_member_that_never_reads_holds_its_group_up_and_is_then_disconnected() -> None:
    alone = Alone()
    alone.tell("client/1", JoinGroup("lazy", "g", 1000))
    alone.tell("client/2", JoinGroup("busy", "g", 1 << 20))
    alone.tell("client/3", OpenGroupSender("s"))
    receipts = 0
    for number in range(5):
        told = alone.tell("client/3", SendToGroups("s", ("g",), number, batch(400)))
        receipts += sum(isinstance(message, GroupSendReceipt) for _, message in told)
    assert receipts < 5, "what does not fit is not confirmed"
    for _ in range(100):
        alone.now = max(alone.now, alone.node.next_deadline() or 0)
        alone.told(alone.node.handle(DeadlineReached(), now=alone.now))
        if alone.closed:
            break
    (closed,) = alone.closed
    assert closed.session == "client/1"
    assert "lazy" in closed.reason
    assert alone.now - NOW == 10 * SECOND
    told = alone.told(alone.node.handle(SessionClosed("client/1"), now=alone.now))
    rest = [message for _, message in told if isinstance(message, GroupDelivery)]
    assert {each.member for each in rest} == {"busy"}
    assert rest[-1].first_sequence == 4, "the others get the rest"


def test_a_member_that_reads_goes_on() -> None:
    alone = Alone(session_window_bytes=1000)
    alone.tell("client/1", JoinGroup("m", "g", 1000))
    alone.tell("client/3", OpenGroupSender("s"))
    for number in range(5):
        alone.tell("client/3", SendToGroups("s", ("g",), number, batch(400)))
    delivered = alone.multicast.inbound.delivered_rows
    assert delivered < 5
    told = alone.tell("client/1", GroupTaken("m", 1 << 20))
    assert alone.multicast.inbound.delivered_rows > delivered
    assert any(isinstance(message, GroupSendReceipt) for _, message in told)


def test_one_name_is_one_client_at_a_broker() -> None:
    alone = Alone()
    alone.tell("client/1", JoinGroup("m", "g", WINDOW))
    ((_, refused),) = alone.tell("client/2", JoinGroup("m", "g", WINDOW))
    assert isinstance(refused, GroupJoined)
    assert "another client" in refused.problem
    alone.tell("client/1", LeaveGroup("m", "g"))
    told = alone.tell("client/2", JoinGroup("m", "g", WINDOW))
    assert told[0][1] == GroupJoined("m", "g")


def test_a_client_that_does_not_wait_for_receipts_is_refused(
    overlay: type[Overlay], diamond: dict[Any, int]
) -> None:
    parameters = MulticastParameters(waiting_bytes=2000)
    run = overlay(1, diamond, parameters=parameters)
    run.member("m", "g", "d")
    run.sender("s", "a", "g", total=20, every_ns=1, payload_bytes=500)
    run.finish()
    sender = run.senders["s"]
    assert sender.failures
    assert "multicast.waiting_bytes" in sender.failures[0]
    seen = run.seen["m"]["s"]
    assert seen == sorted(set(seen))
    assert len(seen) + len(sender.failures) == 20


@pytest.mark.parametrize("law", ["paper", "improved"])
def test_a_narrow_link_slows_its_senders_and_not_the_others(
    overlay: type[Overlay], diamond: dict[Any, int], law: Any
) -> None:
    run = overlay(1, diamond, parameters=MulticastParameters(law=law), checked=False)
    run.member("near", "here", "b")
    run.member("far", "there", "e")
    run.sender("quick", "a", "here", total=300, payload_bytes=800)
    run.sender("slow", "a", "there", total=300, payload_bytes=800)
    run.world.start()
    run.world.set_bandwidth("d", "e", 20_000)
    run.world.run_for(8 * SECOND)
    assert len(run.seen["near"]["quick"]) == 300
    assert len(run.seen["far"]["slow"]) < 200
    run.finish()
    run.judge("far", "slow")
