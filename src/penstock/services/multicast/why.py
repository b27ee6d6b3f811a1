"""What holds a sender back: its tree, the price of each link, the dearest link, and its account.

The fields are codes and numbers for programs; ``penstock why`` words them for people.
"""

from __future__ import annotations

import msgspec

from penstock.core.clock import Instant, in_seconds
from penstock.services.multicast.groups.groups import GroupDirectory
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.pricing import Pricing
from penstock.services.multicast.streams.outbound import Outbound
from penstock.services.multicast.streams.senders import LocalSender


class LinkCost(msgspec.Struct, frozen=True):
    """One link of a tree."""

    link: str
    price: float


class SenderExplanation(msgspec.Struct, frozen=True):
    """The state of one sender; the field names are the JSON's."""

    sender: str
    broker: str
    law: str
    benefit: str
    groups: list[str]
    receiving_brokers: list[str]
    tree: list[LinkCost]
    price: float
    dearest_link: str
    account: dict[str, float | str]
    waiting_messages: int
    waiting_bytes: int
    waiting_for_s: float
    sent_packets: float
    window_full: bool
    """Whether the window of unconfirmed messages, and not the price, holds it back."""


def explain_sender(
    senders: list[LocalSender],
    broker: str,
    groups: GroupDirectory,
    pricing: Pricing,
    outbound: Outbound,
    parameters: MulticastParameters,
    now: Instant,
) -> bytes:
    """The explanations of a client's senders as JSON."""
    found = [_explain(each, broker, groups, pricing, outbound, parameters, now) for each in senders]
    return msgspec.json.encode({"senders": found})


def _explain(
    sender: LocalSender,
    broker: str,
    groups: GroupDirectory,
    pricing: Pricing,
    outbound: Outbound,
    parameters: MulticastParameters,
    now: Instant,
) -> SenderExplanation:
    route = groups.route(sender.groups)
    costs = [
        LinkCost(f"{link.broker}->{link.neighbour}", pricing.price(link.number))
        for link in route.links
    ]
    dearest = max(costs, key=lambda each: each.price, default=LinkCost("", 0.0))
    since = sender.waiting[0].since if sender.waiting else now
    return SenderExplanation(
        sender=sender.producer,
        broker=broker,
        law=parameters.law,
        benefit=parameters.benefit,
        groups=list(sender.groups),
        receiving_brokers=list(route.brokers),
        tree=costs,
        price=sum(each.price for each in costs),
        dearest_link=dearest.link if dearest.price > 0 else "",
        account=sender.account.describe(now),
        waiting_messages=len(sender.waiting),
        waiting_bytes=sender.waiting_bytes,
        waiting_for_s=in_seconds(now - since),
        sent_packets=sender.sent_packets,
        window_full=not outbound.has_room(),
    )


def explain_groups(groups: GroupDirectory, group: str) -> bytes:
    """The members of one group, or of all, as JSON."""
    names = [group] if group else groups.names()
    return msgspec.json.encode({name: groups.listed(name) for name in names})
