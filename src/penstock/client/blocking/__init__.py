"""The client for programs without an event loop: ``penstock.blocking``.

Nearly all of it is made from the asyncio client (``proxy.py``).  By hand are only the publisher,
which takes many messages a second from other threads, reading, and what owns a thread: the client
and the gossip peer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.client.blocking.client import Client, connect
from penstock.client.blocking.publisher import Publisher

if TYPE_CHECKING:
    from penstock.client.blocking.classes import (
        Datagrams,
        DatagramSubscription,
        GossipGroup,
        Group,
        Groups,
        Publication,
        Queues,
        Receiver,
        Sink,
        Stage,
        Subscription,
    )
    from penstock.client.blocking.gossip import GossipPeer, gossip_peer

__all__ = [
    "Client",
    "DatagramSubscription",
    "Datagrams",
    "GossipGroup",
    "GossipPeer",
    "Group",
    "Groups",
    "Publication",
    "Publisher",
    "Queues",
    "Receiver",
    "Sink",
    "Stage",
    "Subscription",
    "connect",
    "gossip_peer",
]

_GOSSIP = frozenset(("GossipPeer", "gossip_peer"))


def __getattr__(name: str) -> Any:
    """Import what is asked for, once."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "gossip" if name in _GOSSIP else "classes"
    found = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """What can be asked for."""
    return sorted(__all__)
