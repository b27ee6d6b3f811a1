from __future__ import annotations

from penstock.content.selectors.parser import parse
from penstock.services.guaranteed.edge.connected import ConnectedSubscriptions
from penstock.services.guaranteed.edge.subscription import Subscription


def subscription(key: int, name: str) -> Subscription:
    return Subscription(key, name, parse("TRUE"))


def test_a_subscription_is_found_by_session_and_by_key() -> None:
    table, one, two = ConnectedSubscriptions(), subscription(1, "a"), subscription(2, "a")
    table.add(one, "alice")
    table.add(two, "bob")

    assert table.find("alice", "a") is one
    assert table.find("alice", "b") is None
    assert table.find("nobody", "a") is None
    assert table.get(2) is two
    assert list(table) == [one, two]
    assert dict(table.of_session("bob")) == {"a": two}


def test_a_subscription_that_is_removed_is_in_no_index() -> None:
    table, one = ConnectedSubscriptions(), subscription(1, "a")
    table.add(one, "alice")
    table.remove(one, "alice")

    assert table.find("alice", "a") is None
    assert table.get(1) is None
    assert dict(table.of_session("alice")) == {}
    assert list(table) == []
