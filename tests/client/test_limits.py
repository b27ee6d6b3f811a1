"""What the protocol does not carry is refused by the client, before anything is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

import penstock
from penstock.core.limits import LONGEST_NAME, LONGEST_SELECTOR

LONG = "n" * (LONGEST_NAME + 1)

CALLS: dict[str, Callable[[penstock.Client], Any]] = {
    "publisher": lambda client: client.publisher(LONG),
    "pubend": lambda client: client.publisher(pubend=LONG),
    "subscription": lambda client: client.subscribe(durable=LONG),
    "queue": lambda client: client.queues.sender(LONG),
    "sender": lambda client: client.queues.sender("q", LONG),
    "group": lambda client: client.group(LONG),
}


@pytest.fixture
async def client(url: str) -> AsyncIterator[penstock.Client]:
    async with penstock.connect(url, deadline_s=20.0) as connected:
        yield connected


@pytest.mark.parametrize("what", CALLS)
async def test_a_name_that_is_too_long_is_named(client: penstock.Client, what: str) -> None:
    with pytest.raises(penstock.LimitExceeded, match=f"name of a {what}.* at most {LONGEST_NAME}"):
        CALLS[what](client)
    assert client.connected


async def test_so_is_a_question_about_one(client: penstock.Client) -> None:
    with pytest.raises(penstock.LimitExceeded, match=r"WhyRequest\.name has a length of 513"):
        await client.why(LONG)
    with pytest.raises(penstock.LimitExceeded, match=r"ListQueues\.queue has a length"):
        await client.queues.status(3 * LONG)
    with pytest.raises(penstock.LimitExceeded, match=r"MoveCursor\.ticks is -1"):
        await client.move_cursor("c", {"pb.1": -1})
    assert client.connected


async def test_a_selector_that_cannot_be_sent(client: penstock.Client) -> None:
    with pytest.raises(penstock.LimitExceeded, match=f"at most {LONGEST_SELECTOR}"):
        client.subscribe("a" * (LONGEST_SELECTOR + 1))


def test_a_client_has_a_name_that_fits() -> None:
    with pytest.raises(penstock.LimitExceeded, match="name of a client"):
        penstock.connect("penstock://127.0.0.1:1", name=LONG)
