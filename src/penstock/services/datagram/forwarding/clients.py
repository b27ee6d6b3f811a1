"""The clients of the datagram service at one broker, and what they subscribe to.

1. A session opens the service under one name, which no other client of this broker has.
2. A client numbers its own filters; each is matched against every message that arrives, so their
   number has a bound.
3. Whatever is wrong with a request is told in one sentence, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.content.matching.index import SelectorIndex
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.selector import Selector
from penstock.core.machine import InvariantBroken, LinkName
from penstock.services.datagram.forwarding.remembered import Remembered
from penstock.services.datagram.messages import Attribute, address_of
from penstock.services.datagram.selectors import read_selector

MAX_FILTERS_OF_SESSION: Final = 1024
"""Subscriptions of one client: each is matched against every message that arrives."""

MAX_NAME_LENGTH: Final = 128
"""A name stands in every datagram of its client."""


class Refused(Exception):
    """A request that is not granted; the message says why, for the client."""


class Client:
    """A session that uses the service."""

    __slots__ = ("address", "filters", "name", "publishes", "session", "texts")

    def __init__(self, session: LinkName, name: str, address: str, publishes: bool) -> None:
        self.session = session
        self.name = name
        self.address = address
        self.publishes = publishes
        self.filters: dict[int, tuple[int, Selector]] = {}
        self.texts: dict[str, int] = {}
        """How many of the client's filters have this text."""


class Clients:
    """All clients of one broker."""

    def __init__(self, broker: str) -> None:
        """Nobody has come."""
        self._broker = broker
        self._by_session: dict[LinkName, Client] = {}
        self._by_name: dict[str, Client] = {}
        self._index = SelectorIndex()
        self._wanting = Remembered(self._match)
        self._session_of_key: dict[int, LinkName] = {}
        self._last_key = 0

    def __len__(self) -> int:
        """How many there are."""
        return len(self._by_session)

    def of_session(self, session: LinkName) -> Client | None:
        """The client behind a session, if it is one."""
        return self._by_session.get(session)

    def named(self, name: str) -> Client | None:
        """The client of a name."""
        return self._by_name.get(name)

    @property
    def publish(self) -> bool:
        """Whether any of them publishes."""
        return any(client.publishes for client in self._by_session.values())

    @property
    def selectors(self) -> Iterable[Selector]:
        """Everything that they subscribe to, with repetitions."""
        for client in self._by_session.values():
            for _, selector in client.filters.values():
                yield selector

    def sessions_wanting(self, attributes: dict[str, Attribute]) -> tuple[LinkName, ...]:
        """The sessions that subscribe to a message, each once."""
        return self._wanting.of(attributes) if self._session_of_key else ()

    def _match(self, attributes: dict[str, Attribute]) -> tuple[LinkName, ...]:
        found = self._index.match_row(attributes)
        return tuple(dict.fromkeys(self._session_of_key[key] for key in found))

    def open(self, session: LinkName, name: str, publishes: bool) -> Client:
        """A session wants to use the service under a name; raises ``Refused``."""
        if not name or "@" in name or len(name) > MAX_NAME_LENGTH:
            raise Refused(
                f"a name has 1 to {MAX_NAME_LENGTH} characters and no '@'; {name!r} is none"
            )
        if session in self._by_session:
            raise Refused(f"this client is open as {self._by_session[session].name!r} already")
        if name in self._by_name:
            raise Refused(
                f"broker {self._broker!r} has a client {name!r} already: choose another name"
            )
        client = Client(session, name, address_of(name, self._broker), publishes)
        self._by_session[session] = self._by_name[name] = client
        return client

    def subscribe(self, session: LinkName, filter_id: int, text: str) -> Selector:
        """A client wants messages; raises ``Refused``."""
        client = self._by_session.get(session)
        if client is None:
            raise Refused("open the datagram service before subscribing")
        if filter_id in client.filters:
            raise Refused(f"filter {filter_id} is in use")
        if len(client.filters) >= MAX_FILTERS_OF_SESSION:
            raise Refused(
                f"this client has {MAX_FILTERS_OF_SESSION} subscriptions, the most allowed"
            )
        try:
            selector = read_selector(text).selector
        except SelectorError as error:
            raise Refused(str(error)) from None
        self._last_key += 1
        client.filters[filter_id] = (self._last_key, selector)
        client.texts[selector.text] = client.texts.get(selector.text, 0) + 1
        self._index.add(self._last_key, selector)
        self._wanting.forget()
        self._session_of_key[self._last_key] = session
        return selector

    def unsubscribe(self, session: LinkName, filter_id: int) -> Selector | None:
        """A client wants no more; None if it had no such filter."""
        client = self._by_session.get(session)
        held = client.filters.pop(filter_id, None) if client is not None else None
        if client is None or held is None:
            return None
        key, selector = held
        client.texts[selector.text] -= 1
        if not client.texts[selector.text]:
            del client.texts[selector.text]
        self._index.remove(key)
        self._wanting.forget()
        del self._session_of_key[key]
        return selector

    def leave(self, client: Client) -> None:
        """A client is gone; its filters were unsubscribed before."""
        del self._by_session[client.session], self._by_name[client.name]

    def check_invariants(self) -> None:
        """Every filter is in the index, and every name belongs to a session."""
        filters = sum(len(client.filters) for client in self._by_session.values())
        if not filters == len(self._index) == len(self._session_of_key):
            raise InvariantBroken(f"{filters} filters, {len(self._index)} in the index")
        if len(self._by_name) != len(self._by_session):
            raise InvariantBroken("a name without a session, or a session without a name")
