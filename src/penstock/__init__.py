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
    from penstock.client.client import Client, connect
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
    from penstock.client.gossip.gossip import EventRefused, GossipGroup, GossipPeer, gossip_peer
    from penstock.client.guaranteed.message import Message, MessageBatch
    from penstock.client.guaranteed.subscription import Subscription
    from penstock.client.options import ClientOptions
    from penstock.client.publishing.limits import PublishLimits
    from penstock.client.publishing.publisher import Publication, Publisher
    from penstock.client.publishing.receipts import BatchReceipt, Receipt
    from penstock.client.session import SessionOptions
    from penstock.content.rows.batch import Batch
    from penstock.services.gossip.parameters import GossipParameters
    from penstock.services.guaranteed.messages import ThrottleNotice

_HOMES = {
    "penstock.client.client": ("Client", "connect"),
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
    "penstock.client.gossip.gossip": ("EventRefused", "GossipGroup", "GossipPeer", "gossip_peer"),
    "penstock.client.guaranteed.message": ("Message", "MessageBatch"),
    "penstock.client.options": ("ClientOptions",),
    "penstock.client.publishing.limits": ("PublishLimits",),
    "penstock.client.publishing.publisher": ("Publication", "Publisher"),
    "penstock.client.publishing.receipts": ("BatchReceipt", "Receipt"),
    "penstock.client.session": ("SessionOptions",),
    "penstock.client.guaranteed.subscription": ("Subscription",),
    "penstock.content.rows.batch": ("Batch",),
    "penstock.services.gossip.parameters": ("GossipParameters",),
    "penstock.services.guaranteed.messages": ("ThrottleNotice",),
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
