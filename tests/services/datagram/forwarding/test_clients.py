"""Names, sessions and filters at one broker."""

from __future__ import annotations

import pytest

from penstock.services.datagram.forwarding.clients import MAX_NAME_LENGTH, Clients, Refused


@pytest.fixture
def clients() -> Clients:
    made = Clients("near")
    made.open("session-1", "alpha", publishes=True)
    return made


def test_a_client_is_found_by_session_and_by_name(clients: Clients) -> None:
    client = clients.of_session("session-1")
    assert client is not None
    assert client is clients.named("alpha")
    assert client.address == "alpha@near"
    assert clients.publish


@pytest.mark.parametrize("name", ["", "a@b", "x" * (MAX_NAME_LENGTH + 1)])
def test_a_name_that_is_none_is_refused(clients: Clients, name: str) -> None:
    with pytest.raises(Refused, match="no '@'"):
        clients.open("session-2", name, publishes=False)
    assert len(clients) == 1


def test_a_name_and_a_session_are_used_once(clients: Clients) -> None:
    with pytest.raises(Refused, match="choose another name"):
        clients.open("session-2", "alpha", publishes=False)
    with pytest.raises(Refused, match="open as 'alpha' already"):
        clients.open("session-1", "beta", publishes=False)


def test_a_session_gets_a_message_once_however_many_filters_match(clients: Clients) -> None:
    clients.subscribe("session-1", 1, "kind = 'a'")
    clients.subscribe("session-1", 2, "kind <> 'b'")
    assert list(clients.sessions_wanting({"kind": "a"})) == ["session-1"]
    assert list(clients.sessions_wanting({"kind": "b"})) == []


def test_what_is_wrong_with_a_subscription_is_said_and_changes_nothing(clients: Clients) -> None:
    clients.subscribe("session-1", 1, "kind = 'a'")
    with pytest.raises(Refused, match="filter 1 is in use"):
        clients.subscribe("session-1", 1, "kind = 'b'")
    with pytest.raises(Refused, match="open the datagram service"):
        clients.subscribe("nobody", 1, "kind = 'b'")
    with pytest.raises(Refused):
        clients.subscribe("session-1", 2, "kind = = 'b'")
    assert [selector.text for selector in clients.selectors] == ["kind = 'a'"]
    clients.check_invariants()


def test_who_leaves_is_forgotten(clients: Clients) -> None:
    clients.subscribe("session-1", 1, "kind = 'a'")
    assert clients.unsubscribe("session-1", 9) is None
    removed = clients.unsubscribe("session-1", 1)
    assert removed is not None
    assert removed.text == "kind = 'a'"
    client = clients.of_session("session-1")
    assert client is not None
    clients.leave(client)
    assert not len(clients)
    assert not clients.publish
    assert list(clients.sessions_wanting({"kind": "a"})) == []
    clients.check_invariants()
