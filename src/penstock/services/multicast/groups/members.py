"""The members at this broker: their sessions, their windows, and their views.

1. A member is a client's name in one session.  Its window bounds what was delivered to it and not
   yet taken by its program.  While the window is full, the next message for it waits, and with it
   everything behind that message in the same stream.
2. A member that takes nothing for ``slow_reader_ns`` while its window is full is disconnected with
   the reason: one reader must not stop a group.
3. Every change of a group's membership gives its members here a new view: a number that grows at
   this broker, and the ``name@broker`` of all members.
"""

from __future__ import annotations

from penstock.core.clock import SECOND, Instant
from penstock.core.machine import CloseSession, Effect, LinkName, Priority, Send
from penstock.services.multicast.messages import GroupDelivery, GroupView, Multicast
from penstock.services.multicast.parameters import MulticastParameters

PRIVATE = "@"
"""Marks the inbox of a client: a group that no other client can join."""


class Member:
    """One client in one session."""

    __slots__ = ("full_since", "groups", "name", "session", "untaken_bytes", "window_bytes")

    def __init__(self, name: str, session: LinkName, window_bytes: int) -> None:
        self.name = name
        self.session = session
        self.window_bytes = window_bytes
        self.groups: dict[str, None] = {}
        self.untaken_bytes = 0
        self.full_since: Instant | None = None

    @property
    def is_full(self) -> bool:
        """Whether the window is full."""
        return self.untaken_bytes >= self.window_bytes


class Members:
    """All clients of this broker that have joined a group."""

    def __init__(self, parameters: MulticastParameters) -> None:
        self._parameters = parameters
        self._by_name: dict[str, Member] = {}
        self._by_group: dict[str, dict[str, Member]] = {}
        self._views: dict[str, int] = {}
        self.memberships = 0

    def get(self, name: str) -> Member | None:
        return self._by_name.get(name)

    def of_session(self, session: LinkName) -> list[Member]:
        return [each for each in self._by_name.values() if each.session == session]

    # -- joining and leaving ----------------------------------------------------------------

    def join(self, name: str, session: LinkName, group: str, window_bytes: int) -> None:
        """Add a member to a group that it is not in."""
        member = self._by_name.get(name)
        if member is None:
            window = min(max(window_bytes, 1), self._parameters.session_window_bytes)
            member = self._by_name[name] = Member(name, session, window)
        member.groups[group] = None
        self._by_group.setdefault(group, {})[name] = member
        self.memberships += 1

    def leave(self, name: str, group: str) -> bool:
        """Remove a member from a group; whether it was in it."""
        member = self._by_name.get(name)
        if member is None or group not in member.groups:
            return False
        del member.groups[group]
        self.memberships -= 1
        fellows = self._by_group[group]
        del fellows[name]
        if not fellows:
            del self._by_group[group]
            self._views.pop(group, None)
        if not member.groups:
            del self._by_name[name]
        return True

    # -- delivering -------------------------------------------------------------------------

    def room_for(self, groups: tuple[str, ...], now: Instant) -> bool:
        """Whether every member of these groups has room; starts the clock of those without."""
        room = True
        for member in self._addressed(groups):
            if member.is_full:
                room = False
                if member.full_since is None:
                    member.full_since = now
        return room

    def deliver(self, message: Multicast, out: list[Effect]) -> None:
        """Deliver a message to every member of its groups, once each."""
        size_bytes = message.batch.wire_size
        for member in self._addressed(message.groups):
            member.untaken_bytes += size_bytes
            delivery = GroupDelivery(
                member.name, message.sender, message.groups, message.first_sequence, message.batch
            )
            out.append(Send(member.session, delivery))

    def _addressed(self, groups: tuple[str, ...]) -> list[Member]:
        if len(groups) == 1:
            return list(self._by_group.get(groups[0], {}).values())
        found: dict[str, Member] = {}
        for group in groups:
            found.update(self._by_group.get(group, {}))
        return list(found.values())

    def taken(self, name: str, session: LinkName, taken_bytes: int) -> bool:
        """Free what a member's program has taken; whether a full window has room again."""
        member = self._by_name.get(name)
        if member is None or member.session != session or taken_bytes <= 0:
            return False
        was_full = member.is_full
        member.untaken_bytes = max(0, member.untaken_bytes - taken_bytes)
        if not member.is_full:
            member.full_since = None
        return was_full and not member.is_full

    def close_slow(self, now: Instant) -> list[Effect]:
        """Disconnect members whose window was full for too long."""
        limit = self._parameters.slow_reader_ns
        out: list[Effect] = []
        for member in self._by_name.values():
            if member.full_since is not None and now - member.full_since >= limit:
                member.full_since = None
                reason = (
                    f"member {member.name!r} has taken nothing for {limit // SECOND} s while "
                    f"{member.untaken_bytes} bytes wait for it, and holds its groups up "
                    "(multicast.slow_reader_ns); reconnect, join again and read faster"
                )
                out.append(CloseSession(member.session, reason))
        return out

    def next_deadline(self) -> Instant | None:
        """When the next slow reader is disconnected."""
        full = [each.full_since for each in self._by_name.values() if each.full_since is not None]
        return min(full) + self._parameters.slow_reader_ns if full else None

    # -- views ------------------------------------------------------------------------------

    def have_views(self, group: str) -> bool:
        """Whether a group has members here that get views; an inbox has none."""
        return group in self._by_group and not group.startswith(PRIVATE)

    def view_changed(self, group: str, listed: tuple[str, ...]) -> list[Effect]:
        """Send the members here the next view: ``listed`` are all members of the group."""
        view = self._views[group] = self._views.get(group, 0) + 1
        return [
            Send(each.session, GroupView(each.name, group, view, listed), Priority.DATA)
            for each in self._by_group[group].values()
        ]

    def groups(self) -> list[str]:
        """The groups that have a member here."""
        return list(self._by_group)
