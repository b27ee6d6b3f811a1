"""The tables of senders and members of groups in a scenario file."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from penstock.client.groups.reader import WINDOW_BYTES
from penstock.lab.scenario.curve import Curve
from penstock.lab.scenario.model import Client, NotNegative, Positive, Rate, Scenario
from penstock.lab.workloads.pace import Pattern

Weight = Annotated[float, msgspec.Meta(gt=0)]
Groups = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class GroupSender(Client, frozen=True, kw_only=True):
    """Sends messages to groups.

    It begins when its broker knows the members of its groups that start no later than it does.
    """

    groups: Groups
    """Where its messages go."""
    weight: Weight = 1.0
    """Its rate as a multiple of that of a sender of weight 1 on the same links.  Brokers reduce it
    to ``multicast.highest_weight``, which is the largest weight of the file if it is not set."""
    must_exist: bool = False
    """Whether messages to a group without members are refused."""
    rate_msgs_per_s: Curve = 0.0
    """0 means as many as the flow control lets it."""
    pattern: Pattern = "even"
    """Equal intervals, or those of a Poisson process."""
    max_in_flight: Positive = 400
    """Messages without a receipt: more than a link of 2 Mbit/s carries, in messages of 1000 bytes,
    in the longest round trip that its buffer allows."""
    messages: NotNegative = 0
    """Total number of messages; 0 means unlimited."""
    payload_bytes: NotNegative = 100
    """At least 16: a payload begins with the identity of its message."""
    wire_bytes: NotNegative = 0
    """Size of a message on a link between brokers, in place of ``payload_bytes``."""
    wire_receivers: Positive = 1
    """The number of receiving brokers behind the link on which it has that size: it names them."""
    attributes: dict[str, str | int | float | bool] = msgspec.field(default_factory=dict)
    """Constants, or texts that say how values vary, such as ``cycle:0..5``."""

    ends_itself: ClassVar[bool] = True

    @property
    def subjects(self) -> frozenset[str]:
        """Also its groups."""
        return super().subjects | frozenset(self.groups)


class GroupMember(Client, frozen=True, kw_only=True):
    """Joins a group and reads its messages."""

    group: str
    """The group that it joins."""
    window_bytes: Positive = WINDOW_BYTES
    """Unread bytes that it accepts."""
    read_msgs_per_s: Rate = 0.0
    """How fast it reads; 0 means as fast as messages arrive."""

    @property
    def subjects(self) -> frozenset[str]:
        """Also its group."""
        return super().subjects | {self.group}


def awaited_members(scenario: Scenario, sender: GroupSender) -> frozenset[str]:
    """The members that a sender's broker should know before it sends."""
    return frozenset(
        each.name
        for each in scenario.clients
        if isinstance(each, GroupMember)
        and each.group in sender.groups
        and each.start_s <= sender.start_s
        and (each.stop_s is None or each.stop_s > sender.start_s)
    )
