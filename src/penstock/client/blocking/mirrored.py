"""The asyncio classes from which blocking ones are made, by the name of the blocking class."""

from __future__ import annotations

from importlib import import_module
from typing import Final

MIRRORED: Final = {
    "ClientMethods": "penstock.client.client:Client",
    "Publication": "penstock.client.publishing.publisher:Publication",
    "Sink": "penstock.client.guaranteed.sink:Sink",
    "Stage": "penstock.client.guaranteed.sink:Stage",
    "Subscription": "penstock.client.guaranteed.subscription:Subscription",
    "Queues": "penstock.client.queues.queues:Queues",
    "Receiver": "penstock.client.queues.receiver:Receiver",
    "Groups": "penstock.client.groups.groups:Groups",
    "Group": "penstock.client.groups.group:Group",
    "DatagramService": "penstock.client.datagram.service:DatagramService",
    "Datagrams": "penstock.client.datagram.datagram:Datagrams",
    "DatagramSubscription": "penstock.client.datagram.subscription:DatagramSubscription",
    "GossipService": "penstock.client.gossip.service:GossipService",
    "GossipPeerMethods": "penstock.client.gossip.gossip:GossipPeer",
    "GossipGroup": "penstock.client.gossip.gossip:GossipGroup",
}


def asyncio_class(name: str) -> type:
    """The asyncio class from which a blocking one is made."""
    module, _, attribute = MIRRORED[name].partition(":")
    found: type = getattr(import_module(module), attribute)
    return found
