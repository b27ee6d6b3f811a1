"""Members at one broker: windows, slow readers and views."""

from __future__ import annotations

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND
from penstock.core.machine import CloseSession, Effect, Send
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.messages import GroupDelivery, GroupView, Multicast
from penstock.services.multicast.parameters import MulticastParameters

NOW = 1_700_000_000 * SECOND
PARAMETERS = MulticastParameters(session_window_bytes=1000)
BATCH = Batch.from_rows([({}, bytes(600))])


@pytest.fixture
def members() -> Members:
    """m is in g and h, n is in g."""
    made = Members(PARAMETERS)
    made.join("m", "client/1", "g", 1 << 20)
    made.join("m", "client/1", "h", 1 << 20)
    made.join("n", "client/2", "g", 100)
    return made


def deliver(members: Members, *groups: str) -> list[str]:
    message = Multicast("a", 1, "s", 0, groups, (), 0.0, (), 0, BATCH)
    out: list[Effect] = []
    members.deliver(message, out)
    deliveries = [each.message for each in out if isinstance(each, Send)]
    return [each.member for each in deliveries if isinstance(each, GroupDelivery)]


def test_a_member_of_several_groups_gets_a_message_once(members: Members) -> None:
    assert deliver(members, "g", "h") == ["m", "n"]
    assert deliver(members, "h") == ["m"]
    assert deliver(members, "void") == []


def test_a_window_is_cut_to_what_the_broker_allows(members: Members) -> None:
    member = members.get("m")
    assert member is not None
    assert member.window_bytes == 1000
    deliver(members, "h")
    assert members.room_for(("h",), NOW)
    deliver(members, "h")
    assert not members.room_for(("h",), NOW)


def test_what_a_program_takes_makes_room(members: Members) -> None:
    deliver(members, "g")
    assert not members.room_for(("g",), NOW)
    assert not members.taken("n", "client/1", 1 << 20), "another session"
    assert not members.taken("n", "client/2", 1), "still full"
    assert members.taken("n", "client/2", 1 << 20)
    assert members.room_for(("g",), NOW)
    assert members.next_deadline() is None


def test_a_slow_reader_is_disconnected_with_the_reason(members: Members) -> None:
    deliver(members, "g")
    members.room_for(("g",), NOW)
    due = members.next_deadline()
    assert due == NOW + PARAMETERS.slow_reader_ns
    assert members.close_slow(due - 1) == []
    (closed,) = members.close_slow(due)
    assert isinstance(closed, CloseSession)
    assert closed.session == "client/2"
    assert "multicast.slow_reader_ns" in closed.reason
    assert members.close_slow(due) == [], "once"


def test_leaving_forgets_the_group_and_then_the_member(members: Members) -> None:
    assert members.memberships == 3
    assert [each.name for each in members.of_session("client/1")] == ["m"]
    assert members.leave("m", "h")
    assert not members.leave("m", "h")
    assert members.groups() == ["g"]
    assert members.leave("m", "g")
    assert members.get("m") is None
    assert members.memberships == 1


def test_views_are_numbered_and_go_to_every_member_here(members: Members) -> None:
    listed = ("m@a", "n@a", "x@b")
    for number in (1, 2):
        assert members.view_changed("g", listed) == [
            Send("client/1", GroupView("m", "g", number, listed)),
            Send("client/2", GroupView("n", "g", number, listed)),
        ]
    members.join("n", "client/2", "@n", 100)
    assert members.have_views("g")
    assert not members.have_views("@n"), "an inbox has no views"
    assert not members.have_views("void")
