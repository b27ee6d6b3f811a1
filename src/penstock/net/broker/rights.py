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
from typing import Final

from penstock.core.machine import LinkName
from penstock.core.message import ClientRequest, Message, Right
from penstock.net.tcp.connection import Connection

NOT_ALLOWED: Final = "only clients on the broker's own machine may do this, unless admin = true"

IsOwn = Callable[[LinkName, Message], bool]
"""Whether a request concerns only what belongs to the session that sent it."""


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
    message: ClientRequest,
    connection: Connection,
    session: LinkName,
    *,
    admin: bool,
    is_own: IsOwn,
) -> Message | None:
    """The answer to a client that may not do this; None if it may."""
    if message.needed_right is not Right.ADMINISTER or may_administer(connection, admin=admin):
        return None
    return None if is_own(session, message) else message.refused(NOT_ALLOWED)
