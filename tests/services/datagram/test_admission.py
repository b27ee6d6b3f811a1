"""Every refusal of a client's request says why."""

from __future__ import annotations

import pytest

from penstock.services.datagram.admission import (
    MAX_FILTERS_OF_SESSION,
    MAX_NAME_LENGTH,
    open_objection,
    own_requests,
    subscribe_objection,
)
from penstock.services.datagram.forwarding.clients import Clients, DatagramClient

from .conftest import feedback


@pytest.fixture
def clients() -> Clients:
    return Clients("near")


@pytest.fixture
def alpha(clients: Clients) -> DatagramClient:
    return clients.open("session-1", "alpha", publishes=True)


@pytest.mark.parametrize("name", ["", "a@b", "x" * (MAX_NAME_LENGTH + 1)])
def test_an_invalid_name_is_refused(clients: Clients, name: str) -> None:
    assert "no '@'" in open_objection(clients, "session-2", name)
    assert open_objection(clients, "session-2", "x" * MAX_NAME_LENGTH) == ""


def test_a_name_and_a_session_are_used_once(clients: Clients, alpha: DatagramClient) -> None:
    assert "choose another name" in open_objection(clients, "session-2", "alpha")
    assert "open as 'alpha' already" in open_objection(clients, "session-1", "beta")
    assert open_objection(clients, "session-2", "beta") == ""


def test_a_refused_subscription_says_why(clients: Clients, alpha: DatagramClient) -> None:
    assert "open the datagram service" in subscribe_objection(None, 1, "kind = 'b'")
    assert subscribe_objection(alpha, 1, "kind = 'b'") == ""
    clients.subscribe(alpha, 1, "kind = 'a'")
    assert subscribe_objection(alpha, 1, "kind = 'b'") == "filter 1 is in use"
    assert "column" in subscribe_objection(alpha, 2, "kind = = 'b'")


def test_the_number_of_filters_is_bounded(clients: Clients, alpha: DatagramClient) -> None:
    for number in range(MAX_FILTERS_OF_SESSION):
        clients.subscribe(alpha, number, "kind = 'a'")
    assert f"{MAX_FILTERS_OF_SESSION} subscriptions" in subscribe_objection(
        alpha, MAX_FILTERS_OF_SESSION, "kind = 'a'"
    )


def test_a_report_speaks_only_of_the_clients_own_filters(
    clients: Clients, alpha: DatagramClient
) -> None:
    clients.subscribe(alpha, 1, "kind = 'a'")
    own = feedback("kind = 'a'", 10.0)
    assert own_requests(own, alpha) is own
    assert own_requests(feedback("kind = 'b'", 10.0), alpha).requests == ()
