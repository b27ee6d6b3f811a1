"""Every rule of the judge: kept by a clean history, and counted when it is broken by hand."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.lab.oracle.multicast.clients import MemberHistory, Outcome, SenderHistory
from penstock.lab.oracle.multicast.due import SPREAD_NS
from penstock.lab.oracle.multicast.history import MulticastHistory
from penstock.lab.oracle.multicast.outages import Outage
from penstock.lab.workloads.multicast.messages import GroupMessages
from penstock.lab.workloads.multicast.tables import GroupSender

BEGAN: Instant = 1_700_000_000 * SECOND
STEP = 10 * MILLISECOND


def sender_history(name: str = "s", groups: tuple[str, ...] = ("g",)) -> SenderHistory:
    table = GroupSender(
        service="multicast", role="sender", name=name, broker="a", groups=groups,
        attributes={"n": "number:"},
    )  # fmt: skip
    return SenderHistory(name, groups, GroupMessages(table, 1))


class Group:
    """One sender and one member that can be told what happens, step by step."""

    def __init__(self, *outages: Outage) -> None:
        self.now = BEGAN
        self.history = MulticastHistory(outages)
        self.history.began_at = BEGAN
        self.sender = self.history.add_sender(sender_history())
        self.member = self.history.add_member(MemberHistory("m", "g"))

    def wait(self, duration: int = STEP) -> Instant:
        self.now += duration
        return self.now

    def meet(self) -> None:
        """Both are there, and the sender's broker has listed the member."""
        self.member.joined(self.wait())
        self.sender.connected(self.wait())
        self.sender.listed(["m"], self.wait())

    def send(self, *, confirmed: bool = True) -> int:
        number = self.sender.submitted(self.wait())
        if confirmed:
            self.sender.confirmed(number, 0, self.wait())
        return number

    def receive(self, number: int, sender: SenderHistory | None = None) -> None:
        row = (sender or self.sender).source.row(number)
        self.member.received(*row, self.wait())

    def deliver(self, count: int = 3) -> None:
        for _ in range(count):
            self.receive(self.send())

    def broken(self) -> dict[str, int]:
        judgement = self.history.judge()
        assert judgement["lost"] == 0 or not self.history.complete()
        return {rule: count for rule, count in judgement.broken.items() if count}


@pytest.fixture
def group() -> Group:
    return Group()


def test_a_clean_history_breaks_no_rule(group: Group) -> None:
    group.meet()
    group.deliver(20)
    refused = group.sender.submitted(group.wait())
    group.sender.failed(refused, Outcome.REFUSED, "no", group.wait())
    uncertain = group.sender.submitted(group.wait())
    group.sender.failed(uncertain, Outcome.UNCERTAIN, "who knows", group.wait())
    group.send(confirmed=False)
    for view in (1, 2, 3):
        group.member.saw_view(view)
    assert group.broken() == {}
    assert group.history.complete()
    assert group.history.judge()["repeated"] == 0


# -- lost ------------------------------------------------------------------------------------------


def test_a_confirmed_message_that_a_listed_member_lacks_is_lost(group: Group) -> None:
    group.meet()
    group.send()
    assert group.broken() == {"lost": 1}
    assert "m never received message 0 of s" in group.history.judge().examples


def test_a_hole_in_what_a_member_received_is_lost(group: Group) -> None:
    group.member.joined(group.wait())
    group.sender.connected(group.wait())
    first, _, last = group.send(), group.send(), group.send()
    group.receive(first)
    group.receive(last)
    assert group.broken() == {"lost": 1}


def test_a_member_that_the_broker_never_showed_to_know_is_due_nothing(group: Group) -> None:
    group.member.joined(group.wait())
    group.sender.connected(group.wait())
    group.send()
    group.receive(group.send())
    assert group.broken() == {}, "the first message was sent before the broker had heard of it"


def test_messages_without_a_receipt_are_not_due(group: Group) -> None:
    group.meet()
    group.send(confirmed=False)
    assert group.broken() == {}


def test_a_member_of_another_group_is_due_nothing(group: Group) -> None:
    group.history.add_member(MemberHistory("n", "h")).joined(group.wait())
    group.meet()
    group.sender.listed(["n"], group.wait())
    group.deliver()
    assert group.broken() == {}


def test_what_was_sent_before_a_member_joined_is_not_due(group: Group) -> None:
    group.sender.connected(group.wait())
    early = group.sender.submitted(group.wait())
    group.member.joined(group.wait())
    group.sender.listed(["m"], group.wait())
    group.sender.confirmed(early, 0, group.wait())
    group.deliver()
    assert group.broken() == {}


def test_a_member_that_left_is_due_what_came_before_something_it_received(group: Group) -> None:
    group.meet()
    group.send()
    group.deliver()
    group.send()
    group.member.left(group.wait())
    assert group.broken() == {"lost": 1}, "the second may have been under way when it left"


def test_what_was_sent_while_a_member_was_away_is_not_due(group: Group) -> None:
    group.meet()
    group.deliver()
    group.member.left(group.wait())
    group.send()
    group.member.joined(group.wait())
    group.deliver()
    assert group.broken() == {}


def test_a_member_that_joined_again_is_due_everything_once_all_brokers_know(group: Group) -> None:
    group.meet()
    group.deliver()
    group.member.joined(group.wait())
    group.receive(group.send())
    group.send()
    assert group.broken() == {}, "the broker may have heard only now that it had left"
    group.wait(SPREAD_NS)
    group.deliver()
    group.send()
    assert group.broken() == {"lost": 1}


def test_after_a_reconnection_of_the_sender_its_broker_must_show_what_it_knows(
    group: Group,
) -> None:
    group.meet()
    group.deliver()
    across = group.send(confirmed=False)
    group.sender.connected(group.wait())
    group.sender.confirmed(across, 0, group.wait())
    group.send()
    assert group.broken() == {}
    group.sender.listed(["m"], group.wait())
    group.send()
    assert group.broken() == {"lost": 1}


def test_nothing_is_due_from_a_time_in_which_members_counted_as_departed() -> None:
    group = Group(Outage(5.0, 8.0))
    group.meet()
    group.deliver()
    group.now = BEGAN + 6 * SECOND
    group.send()
    assert group.broken() == {}
    group.now = BEGAN + 9 * SECOND
    group.send()
    assert group.broken() == {}, "nothing shows that the broker knows the member again"
    group.deliver()
    group.send()
    assert group.broken() == {"lost": 1}


# -- what is received ------------------------------------------------------------------------------


def test_a_message_received_twice_in_one_stay_is_counted(group: Group) -> None:
    group.meet()
    group.deliver()
    group.receive(2)
    assert group.broken() == {"duplicated": 1}


def test_a_message_received_again_after_joining_again_is_noted(group: Group) -> None:
    group.meet()
    group.deliver()
    group.member.left(group.wait())
    group.member.joined(group.wait())
    group.receive(2)
    group.receive(2)
    assert group.broken() == {}
    assert group.history.judge()["repeated"] == 2
    group.deliver()
    group.receive(4)
    assert group.broken() == {"duplicated": 1}


def test_a_message_received_after_a_later_one_is_counted(group: Group) -> None:
    group.meet()
    first, second = group.send(), group.send()
    group.receive(second)
    group.receive(first)
    assert group.broken() == {"out_of_order": 1}


def test_a_refused_message_is_unwanted(group: Group) -> None:
    group.meet()
    refused = group.sender.submitted(group.wait())
    group.sender.failed(refused, Outcome.REFUSED, "no", group.wait())
    group.receive(refused)
    assert group.broken() == {"unwanted": 1}


def test_a_message_that_nobody_sent_is_unwanted(group: Group) -> None:
    group.meet()
    group.receive(7)
    group.member.received({}, b"short", group.wait())
    assert group.broken() == {"unwanted": 2}


def test_a_message_for_another_group_is_unwanted(group: Group) -> None:
    group.meet()
    other = group.history.add_sender(sender_history("other", ("h",)))
    other.submitted(group.wait())
    group.receive(0, other)
    assert group.broken() == {"unwanted": 1}


def test_a_message_before_the_join_is_unwanted(group: Group) -> None:
    group.sender.connected(group.wait())
    group.receive(group.send())
    assert group.broken() == {"unwanted": 1}


def test_other_attributes_or_another_payload_are_corrupted(group: Group) -> None:
    group.meet()
    one, two = group.send(), group.send()
    attributes, payload = group.sender.source.row(one)
    group.member.received({**attributes, "n": 5}, payload, group.wait())
    attributes, payload = group.sender.source.row(two)
    group.member.received(attributes, payload + b"!", group.wait())
    assert group.broken() == {"corrupted": 2}


def test_views_may_jump_only_where_a_member_has_joined_again(group: Group) -> None:
    group.member.joined(group.wait())
    for view in (4, 5, 1, 2):
        group.member.saw_view(view)
    assert group.broken() == {"view_gaps": 1}
    group.member.joined(group.wait())
    assert group.broken() == {}
    group.member.saw_view(4)
    assert group.broken() == {"view_gaps": 1}
