"""The groups as this broker sees them: its own members, everybody's, and the way to them.

1. A member is in the view of a group from when this broker hears of its joining until it hears of
   its leaving, of its broker's restart, or cannot reach that broker for ``departure_ns``.
2. Views are this broker's own: two brokers hear of two changes in different orders, and number
   their views apart.  When nothing changes any more all of them list the same members.
3. There is no virtual synchrony: nothing is promised about which messages are delivered in which
   view, except that a message goes to the members that its sender's broker knows when it sends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.services.multicast.groups.members import PRIVATE, Members
from penstock.services.multicast.groups.membership import MembershipTable
from penstock.services.multicast.groups.route import ParentsOf, Route, route_to
from penstock.services.multicast.messages import (
    Membership,
    MembershipChange,
    MembershipTold,
    MembershipWanted,
)
from penstock.services.multicast.parameters import MulticastParameters

SENDING = " sending"
"""The group of the brokers that have senders; no client's group can have a space in its name."""

MAX_CACHED_ROUTES = 10_000
"""Sets of groups whose trees are remembered; all are forgotten when any membership changes."""


class Groups:
    """Membership, kept in step with the other brokers and with what can be reached."""

    def __init__(
        self,
        broker: str,
        incarnation: int,
        parameters: MulticastParameters,
        members: Members,
        parents_of: ParentsOf,
        incarnation_of: Callable[[str], int],
    ) -> None:
        """Nobody is in any group."""
        self._broker = broker
        self._incarnation = incarnation
        self._parameters = parameters
        self._members = members
        self._parents_of = parents_of
        self._incarnation_of = incarnation_of
        self._table = MembershipTable()
        self._sequence = 0
        self._links: dict[LinkName, None] = {}
        self._untold: dict[LinkName, None] = {}
        self._unreachable: dict[str, Instant] = {}
        self._departed: dict[str, None] = {}
        self._routes: dict[tuple[str, ...], Route] = {}
        self._table.replace(Membership(broker, incarnation, 0, {}))

    # -- this broker's members --------------------------------------------------------------

    def changed_here(self, group: str, member: str, *, joined: bool, out: list[Effect]) -> None:
        """A client joined or left a group: tell everybody."""
        self._sequence += 1
        change = MembershipChange(
            self._broker, self._incarnation, self._sequence, group, member, joined
        )
        self._table.apply(change)
        self._flood(change, "", out)
        self._views((group,), out)

    # -- the other brokers' -----------------------------------------------------------------

    def link_up(self, link: LinkName, out: list[Effect]) -> None:
        """Tell a neighbour all that is known."""
        self._links[link] = None
        self._untold[link] = None
        out += [Send(link, state, Priority.CONTROL) for state in self._table.states()]
        out.append(Send(link, MembershipTold(), Priority.CONTROL))

    def link_down(self, link: LinkName) -> None:
        """A neighbour is gone."""
        self._links.pop(link, None)
        self._untold.pop(link, None)

    def told(self, link: LinkName) -> None:
        """A neighbour has told all that it knew when the link came up."""
        self._untold.pop(link, None)

    @property
    def is_informed(self) -> bool:
        """Whether every neighbour that is there has told what it knows."""
        return not self._untold

    def learn(
        self, link: LinkName, message: Membership | MembershipChange, out: list[Effect]
    ) -> None:
        """Take in what another broker says of its members."""
        if message.broker == self._broker:
            return
        if isinstance(message, Membership):
            changed = self._table.replace(message)
            if changed is None:
                return
        else:
            news = self._table.apply(message)
            if news is None:
                out.append(Send(link, MembershipWanted(message.broker), Priority.CONTROL))
            if not news:
                return
            changed = [message.group]
        self._flood(message, link, out)
        self._views(changed, out)

    def asked(self, link: LinkName, broker: str, out: list[Effect]) -> None:
        """A neighbour missed something."""
        out.append(Send(link, self._table.state(broker), Priority.CONTROL))

    def _flood(
        self, message: Membership | MembershipChange, except_link: LinkName, out: list[Effect]
    ) -> None:
        out += [
            Send(link, message, Priority.CONTROL) for link in self._links if link != except_link
        ]

    # -- reachability -----------------------------------------------------------------------

    def routes_changed(self, now: Instant, out: list[Effect]) -> None:
        """Other ways, and perhaps brokers that were started anew and so have no members."""
        self._routes.clear()
        parents = self._parents_of(self._broker)
        changed: dict[str, None] = {}
        for broker in self._table.brokers():
            if broker == self._broker:
                continue
            incarnation = self._incarnation_of(broker)
            if incarnation > self._table.incarnation(broker):
                changed.update(dict.fromkeys(self._table.groups_at(broker)))
                self._table.replace(Membership(broker, incarnation, 0, {}))
            if broker not in parents:
                if broker not in self._departed:
                    self._unreachable.setdefault(broker, now)
                continue
            self._unreachable.pop(broker, None)
            if broker in self._departed:
                del self._departed[broker]
                changed.update(dict.fromkeys(self._table.groups_at(broker)))
        self._views(changed, out)

    def deadline(self, now: Instant, out: list[Effect]) -> list[str]:
        """The brokers that have been away for too long: their members have left."""
        limit = now - self._parameters.departure_ns
        gone = [broker for broker, since in self._unreachable.items() if since <= limit]
        if gone:
            self._routes.clear()
            for broker in gone:
                del self._unreachable[broker]
                self._departed[broker] = None
            groups = [group for broker in gone for group in self._table.groups_at(broker)]
            self._views(dict.fromkeys(groups), out)
        return gone

    def next_deadline(self) -> Instant | None:
        """When the next broker that is away has left."""
        if not self._unreachable:
            return None
        return min(self._unreachable.values()) + self._parameters.departure_ns

    # -- asking -----------------------------------------------------------------------------

    def route(self, groups: tuple[str, ...]) -> Route:
        """The brokers with members of these groups, and the tree to them."""
        route = self._routes.get(groups)
        if route is None:
            brokers = dict.fromkeys(each for group in groups for each in self._present(group))
            route = route_to(self._broker, brokers, self._parents_of(self._broker))
            if len(self._routes) >= MAX_CACHED_ROUTES:
                self._routes.clear()
            self._routes[groups] = route
        return route

    def incarnation(self, broker: str) -> int:
        """Which incarnation of a broker the members known there belong to."""
        return self._table.incarnation(broker)

    def exists(self, group: str) -> bool:
        """Whether anybody is in a group."""
        return bool(self._present(group))

    def listed(self, group: str) -> tuple[str, ...]:
        """Everybody in a group, as ``name@broker``."""
        found = [
            f"{member}@{broker}"
            for broker in self._present(group)
            for member in self._table.members(group, broker)
        ]
        return tuple(sorted(found))

    def names(self) -> list[str]:
        """Every group with a member, those of one client alone left out."""
        hidden = (PRIVATE, SENDING)
        return [name for name in self._table.groups() if not name.startswith(hidden)]

    def sending_brokers(self) -> list[str]:
        """The brokers whose clients send to groups."""
        return self._present(SENDING)

    def sends(self, sends: bool, out: list[Effect]) -> bool:
        """Tell everybody whether this broker has senders; whether that is news."""
        if sends == bool(self._table.members(SENDING, self._broker)):
            return False
        self.changed_here(SENDING, self._broker, joined=sends, out=out)
        return True

    def _present(self, group: str) -> list[str]:
        return [each for each in self._table.brokers_of(group) if each not in self._departed]

    def _views(self, groups: Iterable[str], out: list[Effect]) -> None:
        self._routes.clear()
        for group in groups:
            out += self._members.view_changed(group, self.listed)
