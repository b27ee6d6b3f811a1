"""Decides which clients may administer a broker.

1. Each message type declares the right that it needs (``Message.right``).  Messages that need
   ``Right.ADMINISTER`` change or delete what belongs to others: the messages of a queue, the
   destinations of an alias queue, another client's durable subscription, a link.
2. Until clients have identities, clients on the broker's own machine have that right, and all
   other clients have it if the broker runs with ``admin = true``.
3. A client may delete the durable subscription that it is connected to.
4. A request without the right is refused in its ordinary answer, and the connection stays open.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Final

from penstock.core.machine import LinkName
from penstock.core.message import ClientRequest, Message, Right
from penstock.net.tcp.connection import Connection

NOT_ALLOWED: Final = "only clients on the broker's own machine may do this, unless admin = true"

IsOwn = Callable[[LinkName, Message], bool]
"""Whether a request concerns only what belongs to the session that sent it."""


def may_administer(connection: Connection, *, admin: bool) -> bool:
    """Whether the peer may administer: it is on this machine, or ``admin`` is set."""
    host = connection.peer_address.rpartition(":")[0].strip("[]")
    try:
        address = ip_address(host)
    except ValueError:
        return admin
    # A dual-stack socket reports an IPv4 peer as an IPv4-mapped IPv6 address.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return admin or (mapped or address).is_loopback


def refusal(
    message: ClientRequest,
    connection: Connection,
    session: LinkName,
    *,
    admin: bool,
    is_own: IsOwn,
) -> Message | None:
    """The refusal of a request that the client has no right to; None if it is allowed."""
    if message.needed_right is not Right.ADMINISTER or may_administer(connection, admin=admin):
        return None
    return None if is_own(session, message) else message.refused(NOT_ALLOWED)
