"""What clients ask of the broker apart from sending: joining, leaving, reading on, questions."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.services.multicast.admission import join_objection
from penstock.services.multicast.groups.groups import Groups
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.messages import (
    AskGroups,
    CloseGroupSender,
    GroupJoined,
    GroupLeft,
    GroupsAnswer,
    GroupSenderOpened,
    GroupTaken,
    JoinGroup,
    LeaveGroup,
    OpenGroupSender,
    WhySender,
)
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.pricing import Pricing
from penstock.services.multicast.streams.inbound import Inbound
from penstock.services.multicast.streams.outbound import Outbound
from penstock.services.multicast.streams.senders import Senders
from penstock.services.multicast.why import explain_groups, explain_sender

Out = list[Effect]


class Reception:
    """Answers clients."""

    def __init__(
        self,
        broker: str,
        parameters: MulticastParameters,
        groups: Groups,
        members: Members,
        senders: Senders,
        inbound: Inbound,
        outbound: Outbound,
        pricing: Pricing,
        *,
        senders_changed: Callable[[Out], None],
    ) -> None:
        """All parts are the broker's."""
        self._broker = broker
        self._parameters = parameters
        self._groups = groups
        self._members = members
        self._senders = senders
        self._inbound = inbound
        self._outbound = outbound
        self._pricing = pricing
        self._senders_changed = senders_changed

    # -- senders ----------------------------------------------------------------------------

    def open_sender(
        self, session: LinkName, message: OpenGroupSender, now: Instant, out: Out
    ) -> None:
        """A client is about to send."""
        longest = 2 * self._parameters.max_name_bytes
        problem = ""
        if len(message.producer.encode("utf-8", "surrogatepass")) > longest:
            problem = f"a sender's name is longer than {longest} bytes"
        elif len(self._senders) >= self._parameters.max_senders:
            problem = f"this broker has {len(self._senders)} senders (multicast.max_senders)"
        elif self._senders.count_of_session(session) >= self._parameters.max_senders_per_client:
            problem = (
                f"this client has {self._parameters.max_senders_per_client} senders, the most "
                "allowed (multicast.max_senders_per_client)"
            )
        else:
            self._senders.open(message.producer, session, message.weight, now)
            self._senders_changed(out)
        out.append(Send(session, GroupSenderOpened(message.producer, problem), Priority.CONTROL))

    def close_sender(
        self, session: LinkName, message: CloseGroupSender, now: Instant, out: Out
    ) -> None:
        """A client sends no more under a name; what was not bought goes with it."""
        self._senders.close(message.producer, session)
        self._senders_changed(out)

    # -- members ----------------------------------------------------------------------------

    def join(self, session: LinkName, message: JoinGroup, now: Instant, out: Out) -> None:
        """A client joins a group, which exists from then on."""
        name, group = message.member, message.group
        problem = join_objection(message, session, self._members, self._parameters)
        out.append(Send(session, GroupJoined(name, group, problem)))
        if not problem:
            self._members.join(name, session, group, message.window_bytes)
            self._groups.changed_here(group, name, joined=True, out=out)

    def leave(self, session: LinkName, message: LeaveGroup, now: Instant, out: Out) -> None:
        """A client leaves a group; whoever was held up by it goes on."""
        member = self._members.get(message.member)
        if member is not None and member.session == session:
            if self._members.leave(message.member, message.group):
                self._groups.changed_here(message.group, message.member, joined=False, out=out)
            self._inbound.room_made(now, out)
        out.append(Send(session, GroupLeft(message.member, message.group)))

    def taken(self, session: LinkName, message: GroupTaken, now: Instant, out: Out) -> None:
        """A member's program has read something."""
        if self._members.taken(message.member, session, message.taken_bytes):
            self._inbound.room_made(now, out)

    def session_closed(self, session: LinkName, now: Instant, out: Out) -> None:
        """A client is gone, out of its groups, and what it had waiting with it."""
        for member in self._members.of_session(session):
            for group in list(member.groups):
                self._members.leave(member.name, group)
                self._groups.changed_here(group, member.name, joined=False, out=out)
        self._senders.session_closed(session)
        self._senders_changed(out)
        self._inbound.room_made(now, out)

    # -- questions --------------------------------------------------------------------------

    def ask_groups(self, session: LinkName, message: AskGroups, now: Instant, out: Out) -> None:
        """Who is in a group?"""
        document = explain_groups(self._groups, message.group)
        out.append(Send(session, GroupsAnswer(message.request, document), Priority.CONTROL))

    def why_sender(self, session: LinkName, message: WhySender, now: Instant, out: Out) -> None:
        """What holds a client's senders back?"""
        found = self._senders.of_client(message.client)
        problem, document = "", b""
        if found:
            document = explain_sender(
                found,
                self._broker,
                self._groups,
                self._pricing,
                self._outbound,
                self._parameters,
                now,
            )
        else:
            names = ", ".join(sorted(self._senders.clients())[:MOST_NAMES]) or "none"
            problem = f"its clients that send to groups are {names}"
        answer = GroupsAnswer(message.request, document, problem)
        out.append(Send(session, answer, Priority.CONTROL))


MOST_NAMES = 20
"""Names that an answer lists."""
