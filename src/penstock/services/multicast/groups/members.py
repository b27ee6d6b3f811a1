"""The members at this broker: their sessions, what they were given, and their views.

1. A member is a client's name in one session.  It has a window: what was delivered to it and not
   taken by its program.  While the window of one member is full, what is next for it waits, and
   with it everything behind it in the same stream.
2. A member that takes nothing for ``slow_reader_ns`` while its window is full is disconnected, with
   the reason: one reader must not stop a group.
3. Every change of a group's membership gives its members here a new view: its number, which grows
   at this broker, and everybody's ``name@broker``.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.clock import SECOND, Instant
from penstock.core.machine import CloseSession, Effect, LinkName, Priority, Send
from penstock.services.multicast.messages import GroupDelivery, GroupView, Multicast
from penstock.services.multicast.parameters import MulticastParameters

PRIVATE = "@"
"""Marks the group of one client alone, its inbox, which nobody else can join."""


class Member:
    """One client in one session."""

    __slots__ = ("full_since", "groups", "name", "session", "untaken_bytes", "window_bytes")

    def __init__(self, name: str, session: LinkName, window_bytes: int) -> None:
        """In no group yet."""
        self.name = name
        self.session = session
        self.window_bytes = window_bytes
        self.groups: dict[str, None] = {}
        self.untaken_bytes = 0
        self.full_since: Instant | None = None

    @property
    def is_full(self) -> bool:
        """Whether nothing more may be delivered at present."""
        return self.untaken_bytes >= self.window_bytes


class Members:
    """Everybody who has joined a group at this broker."""

    def __init__(self, parameters: MulticastParameters) -> None:
        """Nobody has."""
        self._parameters = parameters
        self._by_name: dict[str, Member] = {}
        self._by_group: dict[str, dict[str, Member]] = {}
        self._views: dict[str, int] = {}
        self.memberships = 0

    def get(self, name: str) -> Member | None:
        """A member by its name."""
        return self._by_name.get(name)

    def of_session(self, session: LinkName) -> list[Member]:
        """The members of one session."""
        return [each for each in self._by_name.values() if each.session == session]

    # -- joining and leaving ----------------------------------------------------------------

    def join(self, name: str, session: LinkName, group: str, window_bytes: int) -> None:
        """Put a member into a group that it is not in."""
        member = self._by_name.get(name)
        if member is None:
            window = min(max(window_bytes, 1), self._parameters.session_window_bytes)
            member = self._by_name[name] = Member(name, session, window)
        member.groups[group] = None
        self._by_group.setdefault(group, {})[name] = member
        self.memberships += 1

    def leave(self, name: str, group: str) -> bool:
        """Take a member out of a group; whether it was in it."""
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
        """Whether every member of these groups has room; those that have none begin to count."""
        room = True
        for member in self._addressed(groups):
            if member.is_full:
                room = False
                if member.full_since is None:
                    member.full_since = now
        return room

    def deliver(self, message: Multicast, out: list[Effect]) -> None:
        """Hand a message to every member of its groups, once each."""
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
        """A member's program has taken so much; whether that made room."""
        member = self._by_name.get(name)
        if member is None or member.session != session or taken_bytes <= 0:
            return False
        was_full = member.is_full
        member.untaken_bytes = max(0, member.untaken_bytes - taken_bytes)
        if not member.is_full:
            member.full_since = None
        return was_full and not member.is_full

    def close_slow(self, now: Instant) -> list[Effect]:
        """Disconnect whoever holds others up for too long."""
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
        """When a slow reader's patience ends."""
        full = [each.full_since for each in self._by_name.values() if each.full_since is not None]
        return min(full) + self._parameters.slow_reader_ns if full else None

    # -- views ------------------------------------------------------------------------------

    def view_changed(self, group: str, listed: Callable[[str], tuple[str, ...]]) -> list[Effect]:
        """Tell the members here who is in a group now."""
        here = self._by_group.get(group)
        if not here or group.startswith(PRIVATE):
            return []
        view = self._views[group] = self._views.get(group, 0) + 1
        everybody = listed(group)
        return [
            Send(each.session, GroupView(each.name, group, view, everybody), Priority.DATA)
            for each in here.values()
        ]

    def groups(self) -> list[str]:
        """The groups that have a member here."""
        return list(self._by_group)
