"""The members of every group at every broker; all brokers keep the same table.

1. Each broker numbers the joins and leaves of its own clients and floods them.  A link delivers in
   order, and a broker passes on only what is news to it, so changes arrive in order of number.  If
   a number is missing (a link was down), the whole membership is sent instead.
2. When a link comes up, both ends send each other all that they know.
3. A broker that was restarted has a later incarnation, and its earlier members are gone.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.services.multicast.messages import Membership, MembershipChange


class KnownBroker:
    """One broker's members."""

    __slots__ = ("groups", "incarnation", "sequence")

    def __init__(self, incarnation: int, sequence: int) -> None:
        self.incarnation = incarnation
        self.sequence = sequence
        self.groups: dict[str, dict[str, None]] = {}

    def apply(self, group: str, member: str, *, joined: bool) -> None:
        members = self.groups.setdefault(group, {})
        if joined:
            members[member] = None
        else:
            members.pop(member, None)
        if not members:
            del self.groups[group]


class MembershipTable:
    """All members of all groups."""

    def __init__(self) -> None:
        self._brokers: dict[str, KnownBroker] = {}
        self._hosts: dict[str, dict[str, None]] = {}
        self.version = 0

    # -- learning ---------------------------------------------------------------------------

    def replace(self, state: Membership) -> list[str] | None:
        """Replace a broker's membership; the groups that changed, or None if it was not news."""
        known = self._brokers.get(state.broker)
        if known is not None and (known.incarnation, known.sequence) >= (
            state.incarnation,
            state.sequence,
        ):
            return None
        old = {} if known is None else known.groups
        fresh = self._brokers[state.broker] = KnownBroker(state.incarnation, state.sequence)
        for group, members in state.groups.items():
            for member in members:
                fresh.apply(group, member, joined=True)
        changed = [group for group in old if old[group] != fresh.groups.get(group)]
        changed += [group for group in fresh.groups if group not in old]
        self._host_changed(state.broker, changed)
        return changed

    def apply(self, change: MembershipChange) -> bool | None:
        """Apply one change; whether it was news, or None if one before it is missing."""
        known = self._brokers.get(change.broker)
        if known is None or known.incarnation < change.incarnation:
            if change.sequence != 1:
                return None
            old = [] if known is None else list(known.groups)
            known = self._brokers[change.broker] = KnownBroker(change.incarnation, 0)
            self._host_changed(change.broker, old)
        if known.incarnation > change.incarnation or change.sequence <= known.sequence:
            return False
        if change.sequence != known.sequence + 1:
            return None
        known.sequence = change.sequence
        known.apply(change.group, change.member, joined=change.joined)
        self._host_changed(change.broker, [change.group])
        return True

    def _host_changed(self, broker: str, groups: Iterable[str]) -> None:
        self.version += 1
        for group in groups:
            hosts = self._hosts.setdefault(group, {})
            if group in self._brokers[broker].groups:
                hosts[broker] = None
            else:
                hosts.pop(broker, None)
            if not hosts:
                del self._hosts[group]

    # -- asking -----------------------------------------------------------------------------

    def states(self) -> list[Membership]:
        """Everything that is known, for a neighbour."""
        return [self.state(broker) for broker in sorted(self._brokers)]

    def state(self, broker: str) -> Membership:
        """What is known of one broker."""
        known = self._brokers.get(broker) or KnownBroker(0, 0)
        groups = {group: tuple(members) for group, members in known.groups.items()}
        return Membership(broker, known.incarnation, known.sequence, groups)

    def brokers(self) -> list[str]:
        """Every broker whose membership is known."""
        return list(self._brokers)

    def incarnation(self, broker: str) -> int:
        """The incarnation that the known members belong to; 0 if none are known."""
        known = self._brokers.get(broker)
        return 0 if known is None else known.incarnation

    def brokers_of(self, group: str) -> tuple[str, ...]:
        """The brokers where a group has members."""
        return tuple(self._hosts.get(group, ()))

    def groups_at(self, broker: str) -> tuple[str, ...]:
        """The groups that have members at a broker."""
        known = self._brokers.get(broker)
        return () if known is None else tuple(known.groups)

    def members(self, group: str, broker: str) -> tuple[str, ...]:
        """The members of a group at one broker."""
        known = self._brokers.get(broker)
        return () if known is None else tuple(known.groups.get(group, ()))

    def groups(self) -> list[str]:
        """Every group that has a member."""
        return sorted(self._hosts)
