"""The groups as this broker knows them: the members at every broker, and the paths to them.

1. A member is in the view of a group from when this broker hears that it joined until it hears
   that it left or that its broker was restarted, or until that broker was unreachable for
   ``departure_ns``.
2. Views are local to a broker: two brokers may hear of two changes in different orders, and number
   their views independently.  Once nothing changes any more all of them list the same members.
3. There is no virtual synchrony: nothing is promised about which messages are delivered in which
   view, except that a message goes to the members that its sender's broker knows when it sends it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.core.trees import Topology
from penstock.services.multicast.groups.members import PRIVATE, Members
from penstock.services.multicast.groups.membership import MembershipTable
from penstock.services.multicast.groups.route import GroupRoute, route_to
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
"""Sets of groups whose trees are cached; the cache is cleared when any membership changes."""


class GroupDirectory:
    """Membership, kept in step with the other brokers and with the topology."""

    def __init__(
        self,
        broker: str,
        incarnation: int,
        parameters: MulticastParameters,
        members: Members,
        topology: Topology,
    ) -> None:
        """``members`` are those of this broker; ``topology`` is kept up to date by the broker."""
        self._broker = broker
        self._incarnation = incarnation
        self._parameters = parameters
        self._members = members
        self._topology = topology
        self._table = MembershipTable()
        self._sequence = 0
        self._links: dict[LinkName, None] = {}
        self._untold: dict[LinkName, None] = {}
        self._unreachable: dict[str, Instant] = {}
        self._departed: dict[str, None] = {}
        self._routes: dict[tuple[str, ...], GroupRoute] = {}
        self._table.replace(Membership(broker, incarnation, 0, {}))

    # -- this broker's members --------------------------------------------------------------

    def changed_here(self, group: str, member: str, *, joined: bool, out: list[Effect]) -> None:
        """Flood that a client of this broker joined or left a group."""
        self._sequence += 1
        change = MembershipChange(
            self._broker, self._incarnation, self._sequence, group, member, joined
        )
        self._table.apply(change)
        self._flood(change, "", out)
        self._views((group,), out)

    # -- members of other brokers -----------------------------------------------------------

    def link_up(self, link: LinkName, out: list[Effect]) -> None:
        """Tell a new neighbour all memberships that are known."""
        self._links[link] = None
        self._untold[link] = None
        out += [Send(link, state, Priority.CONTROL) for state in self._table.states()]
        out.append(Send(link, MembershipTold(), Priority.CONTROL))

    def link_down(self, link: LinkName) -> None:
        self._links.pop(link, None)
        self._untold.pop(link, None)

    def told(self, link: LinkName) -> None:
        """Note that a neighbour has told all that it knew when the link came up."""
        self._untold.pop(link, None)

    @property
    def is_informed(self) -> bool:
        """Whether every connected neighbour has told what it knows."""
        return not self._untold

    def replaced(self, link: LinkName, message: Membership, out: list[Effect]) -> None:
        """Take in the whole membership of another broker, and flood it if it is news."""
        if message.broker == self._broker:
            return
        changed = self._table.replace(message)
        if changed is not None:
            self._flood(message, link, out)
            self._views(changed, out)

    def changed(self, link: LinkName, message: MembershipChange, out: list[Effect]) -> None:
        """Take in one change at another broker, and flood it if it is news.

        If a change before it is missing, the neighbour is asked for the whole membership.
        """
        if message.broker == self._broker:
            return
        news = self._table.apply(message)
        if news is None:
            out.append(Send(link, MembershipWanted(message.broker), Priority.CONTROL))
        if news:
            self._flood(message, link, out)
            self._views((message.group,), out)

    def asked(self, link: LinkName, broker: str, out: list[Effect]) -> None:
        """Send a neighbour the whole membership of a broker, of which it missed a change."""
        out.append(Send(link, self._table.state(broker), Priority.CONTROL))

    def _flood(
        self, message: Membership | MembershipChange, except_link: LinkName, out: list[Effect]
    ) -> None:
        out += [
            Send(link, message, Priority.CONTROL) for link in self._links if link != except_link
        ]

    # -- reachability -----------------------------------------------------------------------

    def routes_changed(self, now: Instant, out: list[Effect]) -> None:
        """Take in other paths, and restarts of brokers, whose members are gone."""
        self._routes.clear()
        parents = self._topology.parents(self._broker)
        changed: dict[str, None] = {}
        for broker in self._table.brokers():
            if broker == self._broker:
                continue
            incarnation = self._topology.incarnation(broker)
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
        """Remove the members of brokers that were unreachable too long; return these brokers."""
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
        if not self._unreachable:
            return None
        return min(self._unreachable.values()) + self._parameters.departure_ns

    # -- asking -----------------------------------------------------------------------------

    def route(self, groups: tuple[str, ...]) -> GroupRoute:
        """The brokers with members of these groups, and the tree to them."""
        route = self._routes.get(groups)
        if route is None:
            brokers = dict.fromkeys(each for group in groups for each in self._present(group))
            route = route_to(self._broker, brokers, self._topology.parents(self._broker))
            members = {each for group in groups for each in self.listed(group)}
            route = msgspec.structs.replace(route, receivers=len(members))
            if len(self._routes) >= MAX_CACHED_ROUTES:
                self._routes.clear()
            self._routes[groups] = route
        return route

    def incarnation(self, broker: str) -> int:
        """The incarnation of a broker that its known members belong to."""
        return self._table.incarnation(broker)

    def exists(self, group: str) -> bool:
        """Whether a group has members."""
        return bool(self._present(group))

    def listed(self, group: str) -> tuple[str, ...]:
        """The members of a group, as ``name@broker``."""
        found = [
            f"{member}@{broker}"
            for broker in self._present(group)
            for member in self._table.members(group, broker)
        ]
        return tuple(sorted(found))

    def names(self) -> list[str]:
        """Every group with members, without the inboxes of single clients."""
        hidden = (PRIVATE, SENDING)
        return [name for name in self._table.groups() if not name.startswith(hidden)]

    def sending_brokers(self) -> list[str]:
        """The brokers whose clients send to groups."""
        return self._present(SENDING)

    def sends(self, sends: bool, out: list[Effect]) -> bool:
        """Flood whether this broker has senders, if that is news; whether it was."""
        if sends == bool(self._table.members(SENDING, self._broker)):
            return False
        self.changed_here(SENDING, self._broker, joined=sends, out=out)
        return True

    def _present(self, group: str) -> list[str]:
        return [each for each in self._table.brokers_of(group) if each not in self._departed]

    def _views(self, groups: Iterable[str], out: list[Effect]) -> None:
        self._routes.clear()
        for group in groups:
            if self._members.have_views(group):
                out += self._members.view_changed(group, self.listed(group))
