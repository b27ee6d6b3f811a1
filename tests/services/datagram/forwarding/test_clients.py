"""Names, sessions and filters at one broker."""

from __future__ import annotations

import pytest

from penstock.services.datagram.forwarding.clients import Clients, DatagramClient


@pytest.fixture
def clients() -> Clients:
    return Clients("near")


@pytest.fixture
def alpha(clients: Clients) -> DatagramClient:
    return clients.open("session-1", "alpha", publishes=True)


def test_a_client_is_found_by_session_and_by_name(clients: Clients, alpha: DatagramClient) -> None:
    assert clients.of_session("session-1") is alpha
    assert clients.named("alpha") is alpha
    assert alpha.address == "alpha@near"
    assert clients.has_publishers
    assert len(clients) == 1


def test_a_session_gets_a_message_once_however_many_filters_match(
    clients: Clients, alpha: DatagramClient
) -> None:
    clients.subscribe(alpha, 1, "kind = 'a'")
    clients.subscribe(alpha, 2, "kind <> 'b'")
    assert list(clients.sessions_wanting({"kind": "a"})) == ["session-1"]
    assert list(clients.sessions_wanting({"kind": "b"})) == []


def test_a_filter_text_counts_as_often_as_it_is_subscribed(
    clients: Clients, alpha: DatagramClient
) -> None:
    for number in (1, 2):
        clients.subscribe(alpha, number, "kind = 'a'")
    assert alpha.texts == {"kind = 'a'": 2}
    clients.unsubscribe("session-1", 1)
    assert alpha.texts == {"kind = 'a'": 1}
    assert [selector.text for selector in clients.selectors] == ["kind = 'a'"]
    clients.check_invariants()


def test_a_client_that_leaves_is_forgotten(clients: Clients, alpha: DatagramClient) -> None:
    clients.subscribe(alpha, 1, "kind = 'a'")
    assert clients.unsubscribe("session-1", 9) is None
    removed = clients.unsubscribe("session-1", 1)
    assert removed is not None
    assert removed.text == "kind = 'a'"
    clients.leave(alpha)
    assert not len(clients)
    assert not clients.has_publishers
    assert list(clients.sessions_wanting({"kind": "a"})) == []
    clients.check_invariants()
