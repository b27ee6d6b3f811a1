"""Handles the requests of clients, except sending: joining, leaving, taking, and questions."""

from __future__ import annotations

from typing import Any, Final

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.core.open_request import OpenRequest
from penstock.services.multicast.admission import join_objection, sender_objection
from penstock.services.multicast.groups.groups import GroupDirectory
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.messages import (
    AskGroups,
    CloseGroupSender,
    GroupJoined,
    GroupLeft,
    GroupSenderOpened,
    GroupTaken,
    JoinGroup,
    LeaveGroup,
    OpenGroupSender,
)
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.exchange import PriceExchange
from penstock.services.multicast.streams.exchange import StreamExchange
from penstock.services.multicast.streams.senders import Senders
from penstock.services.multicast.why import explain_groups, explain_sender

Out = list[Effect]

MOST_NAMES: Final = 20
"""Names that an answer lists."""

LISTED_GROUPS: Final = 1000
"""Groups that the status lists; as many as it lists subscriptions."""


class ClientRequests:
    """The requests of one broker's clients; all parts are shared with the broker."""

    def __init__(
        self,
        broker: str,
        parameters: MulticastParameters,
        groups: GroupDirectory,
        members: Members,
        senders: Senders,
        streams: StreamExchange,
        prices: PriceExchange,
    ) -> None:
        self._broker = broker
        self._parameters = parameters
        self._groups = groups
        self._members = members
        self._senders = senders
        self._streams = streams
        self._prices = prices

    # -- senders ----------------------------------------------------------------------------

    def open_sender(
        self, session: LinkName, message: OpenGroupSender, now: Instant, out: Out
    ) -> None:
        """Let a client send under a name; the other brokers hear of a first sender."""
        problem = sender_objection(message, session, self._senders, self._parameters)
        if not problem:
            self._senders.open(message.producer, session, message.weight, now)
            self._senders_changed(out)
        out.append(Send(session, GroupSenderOpened(message.producer, problem), Priority.CONTROL))

    def close_sender(
        self, session: LinkName, message: CloseGroupSender, now: Instant, out: Out
    ) -> None:
        """Remove a sender, with the messages that wait to be paid for."""
        self._senders.close(message.producer, session)
        self._senders_changed(out)

    def _senders_changed(self, out: Out) -> None:
        """Tell the other brokers if this broker's first sender has come or its last has gone."""
        if self._groups.sends(len(self._senders) > 0, out):
            self._prices.senders_changed()

    # -- members ----------------------------------------------------------------------------

    def join(self, session: LinkName, message: JoinGroup, now: Instant, out: Out) -> None:
        """Add a client to a group, which exists from its first member on."""
        name, group = message.member, message.group
        problem = join_objection(message, session, self._members, self._parameters)
        out.append(Send(session, GroupJoined(name, group, problem)))
        if not problem:
            self._members.join(name, session, group, message.window_bytes)
            self._groups.changed_here(group, name, joined=True, out=out)

    def leave(self, session: LinkName, message: LeaveGroup, now: Instant, out: Out) -> None:
        """Remove a client from a group, and continue the streams that waited for it."""
        member = self._members.get(message.member)
        if member is not None and member.session == session:
            if self._members.leave(message.member, message.group):
                self._groups.changed_here(message.group, message.member, joined=False, out=out)
            self._streams.room_made(now, out)
        out.append(Send(session, GroupLeft(message.member, message.group)))

    def taken(self, session: LinkName, message: GroupTaken, now: Instant, out: Out) -> None:
        """Free window space that a member's program has taken."""
        if self._members.taken(message.member, session, message.taken_bytes):
            self._streams.room_made(now, out)

    def session_closed(self, session: LinkName, now: Instant, out: Out) -> None:
        """Remove a client from its groups, with its senders and their waiting messages."""
        for member in self._members.of_session(session):
            for group in list(member.groups):
                self._members.leave(member.name, group)
                self._groups.changed_here(group, member.name, joined=False, out=out)
        self._senders.session_closed(session)
        self._senders_changed(out)
        self._streams.room_made(now, out)

    # -- questions --------------------------------------------------------------------------

    def ask_groups(self, session: LinkName, message: AskGroups, now: Instant, out: Out) -> None:
        """Answer with the members of a group, or of all groups."""
        document = explain_groups(self._groups, message.group)
        out.append(OpenRequest(session, message).answer(document))

    def explained(self, client: str, now: Instant) -> bytes | None:
        """What holds a client's senders back, as JSON; None if it has none."""
        found = self._senders.of_client(client)
        if not found:
            return None
        return explain_sender(
            found,
            self._broker,
            self._groups,
            self._prices.pricing,
            self._streams.outbound,
            self._parameters,
            now,
        )

    def status(self) -> dict[str, Any]:
        """Clients that send to groups, and how many members each group has in the overlay.

        The first ``LISTED_GROUPS`` groups are listed and the others counted: clients make groups,
        and the document must not grow with them.
        """
        names = self._groups.names()
        listed = names[:LISTED_GROUPS]
        return {
            "sending_clients": self.sending_clients()[:MOST_NAMES],
            "groups": {name: len(self._groups.listed(name)) for name in listed},
            "unlisted_groups": len(names) - len(listed),
        }

    def sending_clients(self) -> list[str]:
        """The clients that send to groups."""
        return sorted(self._senders.clients())
