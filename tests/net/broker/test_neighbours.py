from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock.core.clock import MILLISECOND, Duration
from penstock.mechanisms.back_off import BackOff
from penstock.net.broker.config import DialConfig, NeighbourConfig
from penstock.net.process import free_port
from penstock.net.tcp.connection import Connection
from penstock.net.tcp.transport import connect
from penstock.overlay.messages import Hello, LinkControl, LinkControlled
from penstock.services.guaranteed.messages import OpenProducer

PATIENCE_S = 60
QUICK = DialConfig(first_delay_s=0.01, longest_delay_s=0.1)


async def pair(brokers: Any, *, a_dials: bool = True, b_dials: bool = True) -> tuple[Any, Any]:
    """Two neighbours, of which one or both dial."""
    a_port, b_port = free_port(), free_port()
    a = await brokers.start(
        "a",
        listen=f"127.0.0.1:{a_port}",
        pubends=1,
        dial=QUICK,
        neighbours={"b": NeighbourConfig(address=f"127.0.0.1:{b_port}" if a_dials else "")},
    )
    b = await brokers.start(
        "b",
        listen=f"127.0.0.1:{b_port}",
        pubends=0,
        dial=QUICK,
        neighbours={"a": NeighbourConfig(address=f"127.0.0.1:{a_port}" if b_dials else "")},
    )
    return a, b


async def flows(brokers: Any, a: Any, b: Any, first: int) -> None:
    """A message published at one broker reaches a subscriber at the other."""
    publisher = await brokers.client(a)
    subscriber = await brokers.client(b)
    await subscriber.subscribe(f"s{first}")
    await publisher.publish("p", first, [b"across"])
    assert await subscriber.delivered(f"s{first}", 1) == [b"across"]


async def until_link(client: Any, link: str, *, up: bool) -> None:
    """Asks until a link is in a state; what is asked for comes about by itself."""
    async with asyncio.timeout(PATIENCE_S):
        while (await client.status()).links[link].up is not up:
            pass


@pytest.mark.parametrize(("a_dials", "b_dials"), [(True, False), (False, True), (True, True)])
async def test_whoever_dials_there_is_one_link(brokers: Any, a_dials: bool, b_dials: bool) -> None:
    a, b = await pair(brokers, a_dials=a_dials, b_dials=b_dials)
    client_a, client_b = await brokers.client(a), await brokers.client(b)
    await until_link(client_a, "b", up=True)
    await until_link(client_b, "a", up=True)

    await flows(brokers, a, b, 0)


@pytest.mark.parametrize(("name", "survivor"), [("a", "theirs"), ("z", "ours")])
async def test_of_two_calls_that_cross_the_smaller_names_stays(
    brokers: Any, peer_class: Any, name: str, survivor: str
) -> None:
    """The broker "m" dials its neighbour, which dials at the same time."""
    hello = Hello("broker", name, 1, "test")
    ours, theirs = peer_class(), peer_class()
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Connection(hello, ours), "127.0.0.1", 0)
    host, port = listener.sockets[0].getsockname()
    broker = await brokers.start("m", neighbours={name: NeighbourConfig(f"{host}:{port}")})
    await ours.until(lambda: ours.opened)

    await connect(broker.address.host, broker.address.port, hello, theirs)

    if survivor == "theirs":
        assert await ours.closed() == "replaced by a better connection"
        assert theirs.closed_because is None
    else:
        assert await theirs.closed() == f"the link {name} has a better connection"
        assert ours.closed_because is None
    listener.close()
    for peer in (ours, theirs):
        peer.connection.abort("the test is over")
        await peer.connection.wait_closed()


async def test_a_neighbour_that_was_away_is_found_again(brokers: Any) -> None:
    a, b = await pair(brokers)
    client = await brokers.client(a)
    await until_link(client, "b", up=True)
    config = b.config

    await brokers.stop(b)
    await until_link(client, "b", up=False)
    b = await brokers.start(
        "b", listen=config.listen, pubends=0, dial=QUICK, neighbours=config.neighbours
    )

    await until_link(client, "b", up=True)
    await flows(brokers, a, b, 0)


async def test_a_cut_link_stays_down_until_it_is_mended(brokers: Any) -> None:
    a, b = await pair(brokers)
    client_a, client_b = await brokers.client(a), await brokers.client(b)
    await until_link(client_a, "b", up=True)
    await until_link(client_b, "a", up=True)

    client_a.send(LinkControl("b", 0, True))
    await client_a.heard(LinkControlled)
    await until_link(client_a, "b", up=False)
    await until_link(client_b, "a", up=False)
    # The other end dials in vain meanwhile.
    assert b._neighbours.links["a"].dial_wanted.is_set()

    client_a.send(LinkControl("b", 0, False))
    await until_link(client_a, "b", up=True)
    await flows(brokers, a, b, 0)


async def test_a_limited_link_carries_everything_and_tells_its_limit(brokers: Any) -> None:
    a, b = await pair(brokers)
    client = await brokers.client(a)
    await until_link(client, "b", up=True)

    client.send(LinkControl("b", 100_000, False))
    await client.heard(LinkControlled)

    assert (await client.status()).links["b"].bandwidth_bytes_per_s == 100_000
    await flows(brokers, a, b, 0)


async def test_a_stranger_does_not_become_a_neighbour(brokers: Any, peer_class: Any) -> None:
    broker = await brokers.start("a")
    stranger = peer_class()
    host, port = broker.address.host, broker.address.port

    await connect(host, port, Hello("broker", "mallory", 1, "test"), stranger)

    assert await stranger.closed() == (
        "broker 'mallory' is not a neighbour of 'a'; add [neighbours.mallory] to the "
        "configuration of 'a'"
    )


async def test_a_neighbour_that_speaks_like_a_client_is_let_go(
    brokers: Any, peer_class: Any
) -> None:
    broker = await brokers.start("a", neighbours={"b": NeighbourConfig()})
    neighbour = peer_class()
    host, port = broker.address.host, broker.address.port
    await connect(host, port, Hello("broker", "b", 1, "test"), neighbour)

    neighbour.send(OpenProducer("p"))

    assert await neighbour.closed() == "OpenProducer is not a message between brokers"


async def test_a_neighbour_that_was_started_anew_replaces_its_old_connection(
    brokers: Any, peer_class: Any
) -> None:
    broker = await brokers.start("b", neighbours={"z": NeighbourConfig()})
    host, port = broker.address.host, broker.address.port
    old, new, older = peer_class(), peer_class(), peer_class()
    await connect(host, port, Hello("broker", "z", 5, "test"), old)

    await connect(host, port, Hello("broker", "z", 6, "test"), new)
    assert await old.closed() == "replaced by a better connection"

    await connect(host, port, Hello("broker", "z", 4, "test"), older)
    assert await older.closed() == "the link z has a better connection"
    assert new.closed_because is None
    new.connection.abort("the test is over")
    await new.connection.wait_closed()


async def test_a_wrong_number_is_said(brokers: Any, caplog: pytest.LogCaptureFixture) -> None:
    wrong = await brokers.start("wrong")
    broker = await brokers.start(
        "a", dial=QUICK, neighbours={"b": NeighbourConfig(address=str(wrong.address))}
    )
    client = await brokers.client(broker)

    async with asyncio.timeout(PATIENCE_S):
        while "answers the broker 'wrong', not 'b'" not in caplog.text:
            await client.status()

    assert not (await client.status()).links["b"].up


async def test_a_refused_call_is_said_once(
    brokers: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{free_port()}"
    attempts = 0
    enough = asyncio.Event()

    def no_wait(back_off: BackOff) -> Duration:
        nonlocal attempts
        attempts += 1
        if attempts == 5:
            enough.set()
        return MILLISECOND

    monkeypatch.setattr(BackOff, "next_wait", no_wait)
    await brokers.start("a", neighbours={"b": NeighbourConfig(address=address)})
    async with asyncio.timeout(PATIENCE_S):
        await enough.wait()

    assert caplog.text.count(f"{address} cannot be reached") == 1
