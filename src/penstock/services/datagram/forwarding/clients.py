"""The clients of the datagram service at one broker, and what they subscribe to.

Which names and subscriptions are allowed is decided in ``admission``, before anything changes here.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.content.matching.index import SelectorIndex
from penstock.content.selectors.selector import Selector
from penstock.core.machine import InvariantBroken, LinkName
from penstock.services.datagram.attribute_cache import AttributeCache
from penstock.services.datagram.messages import Attribute, address_of
from penstock.services.datagram.selectors import read_selector


class DatagramClient:
    """A session that has opened the service."""

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
        self.broker = broker
        self._by_session: dict[LinkName, DatagramClient] = {}
        self._by_name: dict[str, DatagramClient] = {}
        self._index = SelectorIndex()
        self._wanting = AttributeCache(self._match)
        self._session_of_key: dict[int, LinkName] = {}
        self._last_key = 0

    def __len__(self) -> int:
        return len(self._by_session)

    def of_session(self, session: LinkName) -> DatagramClient | None:
        return self._by_session.get(session)

    def names(self) -> list[str]:
        """The names of all clients, in order."""
        return sorted(self._by_name)

    def named(self, name: str) -> DatagramClient | None:
        return self._by_name.get(name)

    @property
    def has_publishers(self) -> bool:
        """Whether any client publishes."""
        return any(client.publishes for client in self._by_session.values())

    @property
    def selectors(self) -> Iterable[Selector]:
        """The selectors of all clients, with repetitions."""
        for client in self._by_session.values():
            for _, selector in client.filters.values():
                yield selector

    def sessions_wanting(self, attributes: dict[str, Attribute]) -> tuple[LinkName, ...]:
        """The sessions that subscribe to a message, each once."""
        return self._wanting.of(attributes) if self._session_of_key else ()

    def _match(self, attributes: dict[str, Attribute]) -> tuple[LinkName, ...]:
        found = self._index.match_row(attributes)
        return tuple(dict.fromkeys(self._session_of_key[key] for key in found))

    def open(self, session: LinkName, name: str, publishes: bool) -> DatagramClient:
        """Add a client; ``open_objection`` had none."""
        client = DatagramClient(session, name, address_of(name, self.broker), publishes)
        self._by_session[session] = self._by_name[name] = client
        return client

    def subscribe(self, client: DatagramClient, filter_id: int, text: str) -> Selector:
        """Add a filter; ``subscribe_objection`` had none."""
        selector = read_selector(text).selector
        self._last_key += 1
        client.filters[filter_id] = (self._last_key, selector)
        client.texts[selector.text] = client.texts.get(selector.text, 0) + 1
        self._index.add(self._last_key, selector)
        self._wanting.forget()
        self._session_of_key[self._last_key] = client.session
        return selector

    def unsubscribe(self, session: LinkName, filter_id: int) -> Selector | None:
        """Remove a filter; None if the session had no such filter."""
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

    def leave(self, client: DatagramClient) -> None:
        """Remove a client whose filters were unsubscribed before."""
        del self._by_session[client.session], self._by_name[client.name]

    def check_invariants(self) -> None:
        """Every filter is in the index, and every name belongs to a session."""
        filters = sum(len(client.filters) for client in self._by_session.values())
        if not filters == len(self._index) == len(self._session_of_key):
            raise InvariantBroken(f"{filters} filters, {len(self._index)} in the index")
        if len(self._by_name) != len(self._by_session):
            raise InvariantBroken("a name without a session, or a session without a name")
