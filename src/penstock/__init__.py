"""Penstock: message-oriented middleware that does not collapse under congestion.

What a program needs is here, and is imported when it is first used, so that ``import penstock``
costs nothing:

    async with penstock.connect("penstock://127.0.0.1:7400") as client:
        await client.publish({"topic": "prices"}, b"42")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.version import __version__

if TYPE_CHECKING:
    from penstock.client import blocking, errors
    from penstock.client.client import Client, ClientOptions, connect
    from penstock.client.errors import (
        ConnectionFailed,
        DataLoss,
        DeadlineExceeded,
        Disconnected,
        InvalidAddress,
        InvalidAttribute,
        LimitExceeded,
        MessageTooLarge,
        OutcomeUncertain,
        PenstockError,
        PublisherTakenOver,
        PublishRefusedError,
        PublishUncertain,
        SubscribeRefusedError,
        UnsubscribeFailed,
    )
    from penstock.client.gossip import EventRefused, GossipGroup, GossipPeer, gossip_peer
    from penstock.client.message import Message, MessageBatch
    from penstock.client.publish_limits import PublishLimits
    from penstock.client.publisher import Publication, Publisher
    from penstock.client.receipts import BatchReceipt, Receipt
    from penstock.client.session import SessionOptions
    from penstock.client.subscription import Subscription
    from penstock.content.batch import Batch
    from penstock.gossip.parameters import GossipParameters
    from penstock.guaranteed.messages import ThrottleNotice

_HOMES = {
    "penstock.client.client": ("Client", "ClientOptions", "connect"),
    "penstock.client.errors": (
        "ConnectionFailed",
        "DataLoss",
        "DeadlineExceeded",
        "Disconnected",
        "InvalidAddress",
        "InvalidAttribute",
        "LimitExceeded",
        "MessageTooLarge",
        "OutcomeUncertain",
        "PenstockError",
        "PublishRefusedError",
        "PublisherTakenOver",
        "PublishUncertain",
        "SubscribeRefusedError",
        "UnsubscribeFailed",
    ),
    "penstock.client.gossip": ("EventRefused", "GossipGroup", "GossipPeer", "gossip_peer"),
    "penstock.client.message": ("Message", "MessageBatch"),
    "penstock.client.publish_limits": ("PublishLimits",),
    "penstock.client.publisher": ("Publication", "Publisher"),
    "penstock.client.receipts": ("BatchReceipt", "Receipt"),
    "penstock.client.session": ("SessionOptions",),
    "penstock.client.subscription": ("Subscription",),
    "penstock.content.batch": ("Batch",),
    "penstock.gossip.parameters": ("GossipParameters",),
    "penstock.guaranteed.messages": ("ThrottleNotice",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = {"blocking": "penstock.client.blocking", "errors": "penstock.client.errors"}

__all__ = [
    "Batch",
    "BatchReceipt",
    "Client",
    "ClientOptions",
    "ConnectionFailed",
    "DataLoss",
    "DeadlineExceeded",
    "Disconnected",
    "EventRefused",
    "GossipGroup",
    "GossipParameters",
    "GossipPeer",
    "InvalidAddress",
    "InvalidAttribute",
    "LimitExceeded",
    "Message",
    "MessageBatch",
    "MessageTooLarge",
    "OutcomeUncertain",
    "PenstockError",
    "Publication",
    "PublishLimits",
    "PublishRefusedError",
    "PublishUncertain",
    "Publisher",
    "PublisherTakenOver",
    "Receipt",
    "SessionOptions",
    "SubscribeRefusedError",
    "Subscription",
    "ThrottleNotice",
    "UnsubscribeFailed",
    "__version__",
    "blocking",
    "connect",
    "errors",
    "gossip_peer",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for, once."""
    if name in _MODULES:
        found: Any = import_module(_MODULES[name])
    elif name in _HOME_OF:
        found = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """What can be asked for."""
    return sorted(__all__)
