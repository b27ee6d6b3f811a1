"""Bad input: every objection names the thing and the limit."""

from __future__ import annotations

import pytest

from penstock.content.rows.batch import Batch
from penstock.services.multicast.admission import (
    join_objection,
    name_objection,
    send_objection,
    sender_objection,
)
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.messages import JoinGroup, OpenGroupSender, SendToGroups
from penstock.services.multicast.parameters import MulticastParameters

PARAMETERS = MulticastParameters()
BATCH = Batch.from_rows([({}, b"x")])


class OneGroup:
    """Only the group ``known`` has members."""

    def exists(self, group: str) -> bool:
        return group == "known"


class Open:
    """So many senders are open, all of session ``client/1``."""

    def __init__(self, senders: int) -> None:
        self._senders = senders

    def __len__(self) -> int:
        return self._senders

    def count_of_session(self, session: str) -> int:
        return self._senders if session == "client/1" else 0


def _send(*groups: str, batch: Batch = BATCH, first: int = 0, must_exist: bool = False) -> str:
    message = SendToGroups("s", groups, first, batch, must_exist)
    return send_objection(message, PARAMETERS, OneGroup())


def test_a_usual_message_is_fine() -> None:
    assert _send("known", "unknown") == ""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "needs a name"),
        ("@", "needs a name"),
        ("a b", "white space"),
        ("a\x00b", "control characters"),
        ("x" * 256, "has 256 bytes; at most 255"),
        ("ü" * 128, "has 256 bytes"),
    ],
)
def test_names_that_cannot_be(name: str, said: str) -> None:
    assert said in name_objection("group", name, PARAMETERS)
    assert said in _send(name)


def test_groups_of_a_message_are_counted() -> None:
    assert "at least one" in _send()
    assert "at most 64" in _send(*(f"g{number}" for number in range(65)))


def test_a_group_without_members_is_refused_only_if_it_must_exist() -> None:
    assert _send("void") == ""
    assert _send("void", must_exist=True) == "group 'void' has no members"
    assert _send("@bob", must_exist=True) == "client 'bob' has no members"
    assert _send("known", must_exist=True) == ""


def test_a_huge_message_is_refused_with_the_limit() -> None:
    huge = Batch.from_rows([({}, bytes(PARAMETERS.window_bytes // 2))])
    assert "multicast.window_bytes" in _send("g", batch=huge)


@pytest.mark.parametrize("first", [-1, 2**62])
def test_impossible_numbers(first: int) -> None:
    assert f"sequence number {first}" in _send("g", first=first)


def test_joining_has_its_bounds() -> None:
    parameters = MulticastParameters(max_groups_per_client=2, max_members=3)
    members = Members(parameters)

    def objection(member: str, group: str, session: str = "client/1") -> str:
        return join_objection(JoinGroup(member, group, 1000), session, members, parameters)

    assert objection("m", "g") == ""
    members.join("m", "client/1", "g", 1000)
    assert "already" in objection("m", "g")
    assert "another client" in objection("m", "h", "client/2")
    members.join("m", "client/1", "h", 1000)
    assert "max_groups_per_client" in objection("m", "i")
    members.join("n", "client/1", "g", 1000)
    assert "max_members" in objection("o", "g")
    assert "inbox" in objection("o", "@m")
    assert "before the broker" in objection("o@b", "g")


def test_senders_are_bounded() -> None:
    parameters = MulticastParameters(max_senders=3, max_senders_per_client=2)

    def objection(senders: int, session: str = "client/1", name: str = "s") -> str:
        return sender_objection(OpenGroupSender(name), session, Open(senders), parameters)

    assert objection(1) == ""
    assert "max_senders_per_client" in objection(2)
    assert objection(2, "client/2") == ""
    assert "3 senders (multicast.max_senders)" in objection(3, "client/2")
    assert "longer than 510 bytes" in objection(0, name="x" * 511)
