"""What a client may ask of its broker, and the reason if it may not.

Checks return the objection as a sentence, or an empty string.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.core.machine import LinkName
from penstock.services.multicast.groups.members import PRIVATE, Members
from penstock.services.multicast.messages import JoinGroup, OpenGroupSender, SendToGroups
from penstock.services.multicast.parameters import MulticastParameters

LARGEST_NUMBER: Final = 2**62
"""Sequence numbers stay below this, so that no sum of them leaves 64 bits."""


class KnownGroups(Protocol):
    """Knows which groups have members."""

    def exists(self, group: str) -> bool: ...


class OpenSenders(Protocol):
    """Knows how many senders are open."""

    def __len__(self) -> int: ...

    def count_of_session(self, session: LinkName) -> int: ...


def name_objection(what: str, name: str, parameters: MulticastParameters) -> str:
    if not name or name == PRIVATE:
        return f"a {what} needs a name"
    # A character takes at most four bytes, so most names need no encoding to be measured.
    if 4 * len(name) > parameters.max_name_bytes and (
        (size := len(name.encode("utf-8", "surrogatepass"))) > parameters.max_name_bytes
    ):
        return (
            f"the name of a {what} that begins {name[:32]!r} has {size} bytes; at most "
            f"{parameters.max_name_bytes} are allowed (multicast.max_name_bytes)"
        )
    # Of all white space only the blank is printable.
    if " " in name or not name.isprintable():
        return f"{name!r} is not a name for a {what}: it has white space or control characters"
    return ""


def send_objection(
    message: SendToGroups, parameters: MulticastParameters, groups: KnownGroups
) -> str:
    """Why a message for groups is refused."""
    if not message.groups:
        return "a message for no group: name at least one"
    if len(message.groups) > parameters.max_groups_per_message:
        return (
            f"a message for {len(message.groups)} groups; at most "
            f"{parameters.max_groups_per_message} are allowed (multicast.max_groups_per_message)"
        )
    for group in message.groups:
        problem = name_objection("group", group, parameters)
        if problem:
            return problem
        if message.must_exist and not groups.exists(group):
            kind = "client" if group.startswith(PRIVATE) else "group"
            return f"{kind} {group.removeprefix(PRIVATE)!r} has no members"
    if not 0 <= message.first_sequence < LARGEST_NUMBER:
        return f"sequence number {message.first_sequence} is not possible"
    largest = parameters.window_bytes // 2
    if message.batch.wire_size > largest:
        return (
            f"{message.batch.wire_size} bytes in one piece; at most {largest} fit (half of "
            "multicast.window_bytes): send smaller batches"
        )
    return "" if len(message.batch) else "there are no messages to send"


def join_objection(
    message: JoinGroup, session: LinkName, members: Members, parameters: MulticastParameters
) -> str:
    """Why a client may not join a group."""
    problem = name_objection("group", message.group, parameters)
    problem = problem or name_objection("member", message.member, parameters)
    if problem:
        return problem
    if message.group.startswith(PRIVATE) and message.group != PRIVATE + message.member:
        return f"{message.group!r} is another client's inbox, which only that client can join"
    if "@" in message.member:
        return f"{message.member!r} is not a name for a member: '@' stands before the broker's name"
    member = members.get(message.member)
    if member is not None:
        if member.session != session:
            return (
                f"another client is called {message.member!r} at this broker; choose another name"
            )
        if message.group in member.groups:
            return f"{message.member!r} is in group {message.group!r} already"
        if len(member.groups) >= parameters.max_groups_per_client:
            return (
                f"{message.member!r} is in {parameters.max_groups_per_client} groups, the most "
                "allowed (multicast.max_groups_per_client)"
            )
    if members.memberships >= parameters.max_members:
        return f"this broker has {members.memberships} memberships (multicast.max_members)"
    return ""


def sender_objection(
    message: OpenGroupSender,
    session: LinkName,
    senders: OpenSenders,
    parameters: MulticastParameters,
) -> str:
    """Why a client may not open a sender."""
    longest = 2 * parameters.max_name_bytes
    if len(message.producer.encode("utf-8", "surrogatepass")) > longest:
        return f"a sender's name is longer than {longest} bytes"
    if len(senders) >= parameters.max_senders:
        return f"this broker has {len(senders)} senders (multicast.max_senders)"
    if senders.count_of_session(session) >= parameters.max_senders_per_client:
        return (
            f"this client has {parameters.max_senders_per_client} senders, the most allowed "
            "(multicast.max_senders_per_client)"
        )
    return ""
