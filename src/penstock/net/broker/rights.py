"""Who may administer a broker.

1. Messages say themselves which right they need (``Message.right``).  Those that need
   ``Right.ADMINISTER`` change or delete what belongs to others: the messages of a queue, the
   destinations of an alias queue, a durable subscription of somebody else, a link.
2. Until clients have identities, those on the broker's own machine have that right, and all others
   if the broker runs with ``admin = true``.
3. A durable subscription that is connected is its own client's to delete.
4. Whoever may not is told so in the answer that the request has anyway, and the connection goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

from penstock.core.machine import LinkName
from penstock.core.message import Message, Right
from penstock.net.broker.ingress import CLIENT_REQUESTS
from penstock.net.tcp.connection import Connection
from penstock.overlay.messages import LinkControl, LinkControlled
from penstock.services.guaranteed.messages import SubscribeRefused, Unsubscribe
from penstock.services.queues.messages import ChangeDestination, PurgeQueue, QueueAnswer

ADMINISTRATIVE: Final[frozenset[type[Message]]] = frozenset(
    kind for kind in CLIENT_REQUESTS if kind.right is Right.ADMINISTER
)
"""What may need more than the use of the broker."""

NOT_ALLOWED: Final = "only clients on the broker's own machine may do this, unless admin = true"

REFUSALS: Final[dict[type[Message], Callable[[Any], Message]]] = {
    LinkControl: lambda request: LinkControlled(request.link, NOT_ALLOWED),
    PurgeQueue: lambda request: QueueAnswer(request.request, b"", NOT_ALLOWED),
    ChangeDestination: lambda request: QueueAnswer(request.request, b"", NOT_ALLOWED),
    Unsubscribe: lambda request: SubscribeRefused(
        request.subscription,
        f"{NOT_ALLOWED}; or connect to the subscription and delete it from there",
    ),
}

IsOwn = Callable[[LinkName, str], bool]
"""Whether a session is connected to a subscription of this name."""


def may_administer(connection: Connection, *, admin: bool) -> bool:
    """Whether whoever is at the other end may: from this machine, or by ``admin``."""
    host = connection.peer_address.rpartition(":")[0].strip("[]")
    try:
        address = ip_address(host)
    except ValueError:
        return admin
    # A socket for both protocols shows an IPv4 peer as an IPv6 one.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return admin or (mapped or address).is_loopback


def refusal(
    message: Message, connection: Connection, session: LinkName, *, admin: bool, is_own: IsOwn
) -> Message | None:
    """The answer to a client that may not do this; None if it may."""
    if message.needed_right is not Right.ADMINISTER or may_administer(connection, admin=admin):
        return None
    if isinstance(message, Unsubscribe) and is_own(session, message.subscription):
        return None
    return REFUSALS[type(message)](message)
