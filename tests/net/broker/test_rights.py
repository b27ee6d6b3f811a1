from __future__ import annotations

from typing import Any, cast

import pytest

from penstock.core.message import ClientRequest, Right
from penstock.net.broker.rights import NOT_ALLOWED, may_administer
from penstock.net.tcp.connection import Connection
from penstock.overlay.messages import LinkControl, LinkControlled
from penstock.overlay.wire import vocabulary
from penstock.services.guaranteed.messages import SubscribeRefused, Unsubscribe, Unsubscribed
from penstock.services.queues.messages import ChangeDestination, PurgeQueue, QueueAnswer
from penstock.services.queues.parameters import QueueConfig

ELSEWHERE = "192.0.2.1:5"


class At:
    """A connection of which only the other end's address matters."""

    def __init__(self, address: str) -> None:
        self.peer_address = address


@pytest.mark.parametrize(
    "address", ["127.0.0.1:5", "127.9.9.9:5", "[::1]:5", "[::ffff:127.0.0.1]:5"]
)
def test_this_machine_may_administer(address: str) -> None:
    assert may_administer(cast(Connection, At(address)), admin=False)


@pytest.mark.parametrize(
    "address", ["10.0.0.1:5", "[::ffff:10.0.0.1]:5", "[2001:db8::1]:5", "unknown address", ""]
)
def test_others_may_administer_only_as_admin(address: Any) -> None:
    connection = cast(Connection, At(address))
    assert not may_administer(connection, admin=False)
    assert may_administer(connection, admin=True)


def test_what_needs_a_right_has_a_refusal() -> None:
    administrative = {k for k in vocabulary(ClientRequest) if k.right is Right.ADMINISTER}
    assert {LinkControl, PurgeQueue, ChangeDestination, Unsubscribe} <= administrative
    for kind in administrative:
        assert kind.refused is not ClientRequest.refused
    assert Unsubscribe("s").needed_right is Right.USE
    assert Unsubscribe("s", forget=True).needed_right is Right.ADMINISTER


async def start(brokers: Any, *, admin: bool = False) -> tuple[Any, Any]:
    """A broker, and a client that seems to be on another machine."""
    server = await brokers.start(admin=admin, queues={"q": QueueConfig("q")})
    client = await brokers.client(server)
    await client.subscribe("mine", durable=True)
    server._sessions.get("client/1").connection.peer_address = ELSEWHERE
    return server, client


async def test_others_may_not_administer(brokers: Any) -> None:
    _, client = await start(brokers)
    client.send(
        LinkControl("c", 0, True),
        PurgeQueue("q", request=1),
        ChangeDestination("al", "q@b", request=2),
    )
    client.send(Unsubscribe("somebody else's", forget=True))

    assert (await client.heard(LinkControlled)).problem == NOT_ALLOWED
    for number in (1, 2):
        answer = await client.heard(QueueAnswer, lambda m, number=number: m.request == number)
        assert answer.problem == NOT_ALLOWED
    assert NOT_ALLOWED in (await client.heard(SubscribeRefused)).reason


async def test_who_is_connected_to_a_subscription_may_delete_it(brokers: Any) -> None:
    _, client = await start(brokers)
    client.send(Unsubscribe("mine", forget=True))

    assert await client.heard(Unsubscribed) == Unsubscribed("mine")
    # If it still existed, another selector would be refused.
    client.messages.clear()
    await client.subscribe("mine", "another = 1", durable=True)


async def test_administrators_may(brokers: Any) -> None:
    _, client = await start(brokers, admin=True)
    client.send(PurgeQueue("q", request=1), Unsubscribe("somebody else's", forget=True))

    assert (await client.heard(QueueAnswer)).problem == ""
    assert await client.heard(Unsubscribed) == Unsubscribed("somebody else's")
