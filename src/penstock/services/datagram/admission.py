"""What a client may ask of its broker, and the reason if it may not.

1. A name has a bounded length and no ``@``, which separates it from the broker's name.  One session
   has one name, and no two clients of a broker have the same.
2. A client numbers its own filters.  Each filter is matched against every message that arrives, so
   their number is bounded.
3. The sender of a report or an echo is the client itself, and a report names only filters that the
   client subscribes to.

Checks return the objection as a sentence, or an empty string.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.content.selectors.error import SelectorError
from penstock.core.machine import LinkName
from penstock.services.datagram.forwarding.clients import Clients, DatagramClient
from penstock.services.datagram.messages import Feedback
from penstock.services.datagram.selectors import read_selector

MAX_FILTERS_OF_SESSION: Final = 1024
"""Subscriptions of one client: each is matched against every message that arrives."""

MAX_NAME_LENGTH: Final = 128
"""A name stands in every datagram of its client."""


def open_objection(clients: Clients, session: LinkName, name: str) -> str:
    """Why a session may not use the service under this name."""
    if not name or "@" in name or len(name) > MAX_NAME_LENGTH:
        return f"a name has 1 to {MAX_NAME_LENGTH} characters and no '@'; {name!r} is not valid"
    client = clients.of_session(session)
    if client is not None:
        return f"this client is open as {client.name!r} already"
    if clients.named(name) is not None:
        return f"broker {clients.broker!r} has a client {name!r} already: choose another name"
    return ""


def subscribe_objection(client: DatagramClient | None, filter_id: int, text: str) -> str:
    """Why a session may not subscribe; ``client`` is None if it has not opened the service."""
    if client is None:
        return "open the datagram service before subscribing"
    if filter_id in client.filters:
        return f"filter {filter_id} is in use"
    if len(client.filters) >= MAX_FILTERS_OF_SESSION:
        return f"this client has {MAX_FILTERS_OF_SESSION} subscriptions, the most allowed"
    try:
        read_selector(text)
    except SelectorError as error:
        return str(error)
    return ""


def own_requests(feedback: Feedback, client: DatagramClient) -> Feedback:
    """The report without requests for filters that the client does not subscribe to."""
    own = tuple(each for each in feedback.requests if each.selector in client.texts)
    if len(own) == len(feedback.requests):
        return feedback
    return msgspec.structs.replace(feedback, requests=own)
