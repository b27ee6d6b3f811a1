"""The directory of groups: membership is flooded, views follow, routes lead to the members."""

from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.core.machine import Effect, LinkName, Send
from penstock.core.message import Message
from penstock.services.multicast.groups.groups import GroupDirectory
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.messages import (
    GroupView,
    Membership,
    MembershipChange,
    MembershipTold,
    MembershipWanted,
)
from penstock.services.multicast.parameters import MulticastParameters

from ..conftest import Known

NOW = 1_700_000_000 * SECOND
PARAMETERS = MulticastParameters()


class Broker:
    """Broker b of a - b - c."""

    def __init__(self, topology: Known) -> None:
        self.members = Members(PARAMETERS)
        self.groups = GroupDirectory("b", NOW, PARAMETERS, self.members, topology)
        self.out: list[Effect] = []
        for link in ("a", "c"):
            self.groups.link_up(link, self.out)
        self.told()

    def join(self, member: str, group: str) -> None:
        self.members.join(member, f"client/{member}", group, 1000)
        self.groups.changed_here(group, member, joined=True, out=self.out)

    def told(self) -> list[tuple[LinkName, Message]]:
        told = [(each.link, each.message) for each in self.out if isinstance(each, Send)]
        self.out.clear()
        return told


def test_a_change_here_is_flooded_and_gives_a_view(line: Known) -> None:
    broker = Broker(line)
    broker.join("m", "g")
    change = MembershipChange("b", NOW, 1, "g", "m", True)
    view = GroupView("m", "g", 1, ("m@b",))
    assert broker.told() == [("a", change), ("c", change), ("client/m", view)]
    broker.join("m", "@m")
    assert ("client/m", view) not in broker.told(), "an inbox has no views"


def test_a_change_elsewhere_is_passed_on_once(line: Known) -> None:
    broker = Broker(line)
    change = MembershipChange("c", 1, 1, "g", "x", True)
    broker.groups.changed("c", change, broker.out)
    assert broker.told() == [("a", change)]
    broker.groups.changed("a", change, broker.out)
    assert broker.told() == []
    assert broker.groups.listed("g") == ("x@c",)


def test_a_missed_change_is_made_up_for_by_the_whole_membership(line: Known) -> None:
    broker = Broker(line)
    broker.groups.changed("c", MembershipChange("c", 1, 2, "g", "y", True), broker.out)
    assert broker.told() == [("c", MembershipWanted("c"))]
    whole = Membership("c", 1, 2, {"g": ("x", "y")})
    broker.groups.replaced("c", whole, broker.out)
    assert broker.told() == [("a", whole)]
    broker.groups.asked("a", "c", broker.out)
    assert broker.told() == [("a", whole)]


def test_what_others_say_of_this_broker_is_ignored(line: Known) -> None:
    broker = Broker(line)
    broker.groups.replaced("a", Membership("b", NOW + 1, 9, {"g": ("x",)}), broker.out)
    broker.groups.changed("a", MembershipChange("b", NOW, 1, "g", "x", True), broker.out)
    assert broker.told() == []
    assert not broker.groups.exists("g")


def test_a_new_neighbour_is_told_everything_and_must_tell_it_too(line: Known) -> None:
    broker = Broker(line)
    broker.join("m", "g")
    broker.groups.told("a")
    broker.groups.told("c")
    assert broker.groups.is_informed
    broker.told()
    broker.groups.link_up("d", broker.out)
    assert broker.told() == [
        ("d", Membership("b", NOW, 1, {"g": ("m",)})),
        ("d", MembershipTold()),
    ]
    assert not broker.groups.is_informed
    broker.groups.link_down("d")
    assert broker.groups.is_informed


def test_routes_lead_to_the_brokers_with_members(line: Known) -> None:
    broker = Broker(line)
    assert broker.groups.route(("g",)).brokers == ()
    broker.groups.replaced("c", Membership("c", 1, 1, {"g": ("x",)}), broker.out)
    broker.groups.replaced("a", Membership("a", 1, 1, {"h": ("y",)}), broker.out)
    assert broker.groups.route(("g",)).brokers == ("c",)
    both = broker.groups.route(("g", "h"))
    assert both.brokers == ("a", "c")
    assert {(link.broker, link.neighbour) for link in both.links} == {("b", "a"), ("b", "c")}


def test_members_of_a_broker_that_is_unreachable_too_long_have_left(line: Known) -> None:
    broker = Broker(line)
    broker.groups.replaced("c", Membership("c", 1, 1, {"g": ("x",)}), broker.out)
    whole, line.graph = line.graph, {"a": {"b": 1}, "b": {"a": 1}, "c": {}}
    broker.groups.routes_changed(NOW, broker.out)
    due = broker.groups.next_deadline()
    assert due == NOW + PARAMETERS.departure_ns
    assert broker.groups.deadline(due - 1, broker.out) == []
    assert broker.groups.exists("g")
    assert broker.groups.deadline(due, broker.out) == ["c"]
    assert not broker.groups.exists("g")
    line.graph = whole
    broker.groups.routes_changed(due, broker.out)
    assert broker.groups.exists("g")
    assert broker.groups.next_deadline() is None


def test_members_of_a_restarted_broker_are_gone(line: Known) -> None:
    broker = Broker(line)
    broker.groups.replaced("c", Membership("c", 1, 1, {"g": ("x",)}), broker.out)
    line.incarnations["c"] = 2
    broker.groups.routes_changed(NOW, broker.out)
    assert not broker.groups.exists("g")
    assert broker.groups.incarnation("c") == 2


def test_brokers_with_senders_are_no_group_of_clients(line: Known) -> None:
    broker = Broker(line)
    broker.join("m", "g")
    broker.join("m", "@m")
    assert broker.groups.sends(True, broker.out)
    assert not broker.groups.sends(True, broker.out), "it is no news"
    assert broker.groups.sending_brokers() == ["b"]
    assert broker.groups.names() == ["g"]
    assert broker.groups.sends(False, broker.out)
    assert broker.groups.sending_brokers() == []


def test_a_member_of_two_groups_receives_once(line: Known) -> None:
    broker = Broker(line)
    for member, group in (("m", "g"), ("m", "h"), ("n", "h")):
        broker.join(member, group)
    assert broker.groups.route(("g", "h")).receivers == 2
