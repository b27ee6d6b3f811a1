"""The subscriptions that have a reader connected to this edge, by session and by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.core.machine import LinkName
from penstock.services.guaranteed.edge.subscription import Subscription


class ConnectedSubscriptions:
    """A table with two indexes."""

    def __init__(self) -> None:
        self.by_key: dict[int, Subscription] = {}
        self._by_session: dict[LinkName, dict[str, Subscription]] = {}

    def __iter__(self) -> Iterator[Subscription]:
        return iter(self.by_key.values())

    def get(self, key: int) -> Subscription | None:
        return self.by_key.get(key)

    def of_session(self, session: LinkName) -> Mapping[str, Subscription]:
        """The subscriptions of a session, by name."""
        return self._by_session.get(session, {})

    def find(self, session: LinkName, name: str) -> Subscription | None:
        mine = self._by_session.get(session)
        return None if mine is None else mine.get(name)

    def add(self, subscription: Subscription, session: LinkName) -> None:
        self._by_session.setdefault(session, {})[subscription.name] = subscription
        self.by_key[subscription.key] = subscription

    def remove(self, subscription: Subscription, session: LinkName) -> None:
        mine = self._by_session[session]
        del mine[subscription.name], self.by_key[subscription.key]
        if not mine:
            del self._by_session[session]
