from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.trace import TraceRecord
from penstock.net.broker.config import Limits, NeighbourConfig, TelemetryConfig
from penstock.net.process import free_port
from penstock.net.tcp.transport import connect
from penstock.overlay.messages import Hello, LinkControl, LinkControlled
from penstock.services.guaranteed.messages import (
    Knowledge,
    OpenProducer,
    ProducerOpened,
    Publish,
    PublishReceipt,
    PublishRefused,
    Subscribe,
)
from penstock.store.interface import StoreInUse


async def test_what_is_published_is_delivered_in_order(brokers: Any) -> None:
    broker = await brokers.start()
    subscriber = await brokers.client(broker)
    publisher = await brokers.client(broker)
    await subscriber.subscribe("s", "topic = 't'")

    receipts = [
        await publisher.publish("p", first, [b"%d" % (first + n) for n in range(10)])
        for first in range(0, 50, 10)
    ]

    assert await subscriber.delivered("s", 50) == [b"%d" % number for number in range(50)]
    ticks = [receipt.first_tick for receipt in receipts]
    assert ticks == sorted(ticks)


async def test_everything_survives_a_restart(brokers: Any) -> None:
    broker = await brokers.start()
    publisher = await brokers.client(broker)
    await publisher.publish("p", 0, [b"0", b"1", b"2"])
    first_incarnation = (await publisher.status()).incarnation
    await brokers.stop(broker)
    assert await publisher.closed() == "the broker is stopping"

    broker = await brokers.start()

    client = await brokers.client(broker)
    await client.subscribe("s", start="earliest")
    assert await client.delivered("s", 3) == [b"0", b"1", b"2"]
    client.send(OpenProducer("p"))
    assert (await client.heard(ProducerOpened)).next_sequence == 3
    assert (await client.status()).incarnation > first_incarnation


async def test_what_was_received_before_the_stop_is_acknowledged(brokers: Any) -> None:
    broker = await brokers.start()
    publisher = await brokers.client(broker)
    publisher.send(OpenProducer("p"))
    await publisher.heard(ProducerOpened)
    batch = Batch.from_rows([({}, b"x")])
    publisher.send(*(Publish("p", number, batch) for number in range(20)))
    await publisher.heard(PublishReceipt)

    await brokers.stop(broker)

    await publisher.closed()
    sequences = [m.first_sequence for m in publisher.messages if isinstance(m, PublishReceipt)]
    assert sequences == list(range(20))


async def test_a_publication_that_breaks_a_limit_is_refused_and_the_next_is_not(
    brokers: Any,
) -> None:
    broker = await brokers.start(limits=Limits(max_payload_bytes=10))
    publisher = await brokers.client(broker)
    await publisher.publish("p", 0, [b"small"])

    publisher.send(Publish("p", 1, Batch.from_rows([({}, bytes(11)), ({}, b"")])))

    refusal = await publisher.heard(PublishRefused)
    assert (refusal.first_sequence, refusal.count) == (1, 2)
    assert "max_payload_bytes" in refusal.reason
    await publisher.publish("p", 3, [b"small"])


async def test_a_client_that_speaks_like_a_broker_is_disconnected_alone(brokers: Any) -> None:
    broker = await brokers.start()
    good = await brokers.client(broker)
    bad = await brokers.client(broker)

    bad.send(Knowledge("b.1", Frame(0, 2**62), "*"))

    assert await bad.closed() == "Knowledge is not a message that a client may send"
    await good.publish("p", 0, [b"still here"])


async def test_an_unknown_role_is_refused(brokers: Any, peer_class: Any) -> None:
    broker = await brokers.start()
    peer = peer_class()
    await connect(
        broker.address.host, broker.address.port, Hello("spectator", "x", 1, "test"), peer
    )

    assert "'spectator' is not known here" in await peer.closed()


async def test_only_so_many_clients(brokers: Any) -> None:
    broker = await brokers.start(limits=Limits(max_sessions=2))
    first = await brokers.client(broker)
    await brokers.client(broker)

    third = await brokers.client(broker)
    assert "max_sessions" in await third.closed()

    first.connection.close("done")
    await first.connection.wait_closed()
    await brokers.client(broker)


async def test_a_client_that_does_not_read_is_disconnected_and_others_are_served(
    brokers: Any,
) -> None:
    limits = Limits(session_output_bytes=1 << 20, max_window_bytes=64 << 20)
    broker = await brokers.start(limits=limits)
    slow = await brokers.client(broker)
    fast = await brokers.client(broker)
    publisher = await brokers.client(broker)
    await slow.subscribe("s", window_bytes=64 << 20)
    await fast.subscribe("f", window_bytes=64 << 20)
    slow.connection.pause_reading()

    count = 0
    while (await publisher.status()).sessions == 3:
        await publisher.publish("p", count, [bytes(500_000)])
        count += 1

    slow.connection.resume_reading()
    assert "session_output_bytes" in await slow.closed()
    assert len(await fast.delivered("f", count)) == count


async def test_the_status_tells_of_everything(brokers: Any) -> None:
    broker = await brokers.start("b", neighbours={"c": NeighbourConfig(address="127.0.0.1:1")})
    client = await brokers.client(broker)
    await client.subscribe("s", "n < 3")
    await client.publish("p", 0, [b"", b"1", b"1234"])
    await client.delivered("s", 2)

    status = await client.status()

    assert (status.name, status.sessions) == ("b", 1)
    assert status.listening == str(broker.address)
    service = status.services["guaranteed"]
    assert service["pubends"]["b.1"]["published_messages"] == 3
    assert service["pubends"]["b.1"]["log_bytes"] > 0
    (subscription,) = service["subscriptions"]
    assert (subscription["name"], subscription["selector"]) == ("s", "n < 3")
    assert subscription["delivered_messages"] == 2
    assert status.services.keys() >= {"queues", "multicast", "datagram"}
    link = status.links["c"]
    assert (link.up, link.cut, link.address) == (False, False, "127.0.0.1:1")
    assert service["horizons"].keys() == {"b.1"}


async def test_links_are_controlled_by_those_who_may(brokers: Any) -> None:
    broker = await brokers.start(neighbours={"c": NeighbourConfig()})
    client = await brokers.client(broker)

    client.send(LinkControl("c", 60_000, True))
    assert await client.heard(LinkControlled) == LinkControlled("c")
    link = (await client.status()).links["c"]
    assert (link.cut, link.bandwidth_bytes_per_s) == (True, 60_000)

    client.send(LinkControl("d", 0, False), LinkControl("c", -1, False))
    unknown = await client.heard(LinkControlled, lambda m: m.link == "d")
    assert "no link 'd' (its links: c)" in unknown.problem
    negative = await client.heard(LinkControlled, lambda m: m.link == "c" and m.problem)
    assert "use 0 for no limit" in negative.problem


async def test_telemetry_is_handed_to_its_sink(brokers: Any) -> None:
    records: list[TraceRecord] = []
    told = asyncio.Event()

    def sink(batch: list[TraceRecord]) -> None:
        records.extend(batch)
        if {"queue_bytes", "published_messages"} <= {record.metric for record in records}:
            told.set()

    await brokers.start(
        on_trace=sink,
        telemetry=TelemetryConfig(interval_s=0.01),
        neighbours={"c": NeighbourConfig()},
    )

    async with asyncio.timeout(60):
        await told.wait()
    assert {record.node for record in records} == {"b"}
    assert {r.subject for r in records if r.metric == "queue_bytes"} == {"b->c"}


async def test_a_directory_belongs_to_one_broker(brokers: Any) -> None:
    await brokers.start("b")

    with pytest.raises(StoreInUse):
        await brokers.start("b")


async def test_a_port_that_is_taken_leaves_nothing_open(brokers: Any, tmp_path: Path) -> None:
    first = await brokers.start("a")

    with pytest.raises(OSError, match="in use"):
        await brokers.start("b", listen=str(first.address))
    await brokers.start("b")


async def test_a_publisher_is_held_back_while_the_store_is_behind(
    brokers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is refused or lost: it waits in the network."""
    broker = await brokers.start()
    publisher = await brokers.client(broker)
    publisher.send(OpenProducer("p"))
    await publisher.heard(ProducerOpened)
    batch = Batch.from_rows([({}, bytes(100_000))])
    loads = iter([0.9])
    monkeypatch.setattr(broker._sessions, "_store_load", lambda: next(loads, 0.0))

    publisher.send(*(Publish("p", number, batch) for number in range(100)))

    await publisher.until(
        lambda: sum(isinstance(m, PublishReceipt) for m in publisher.messages) == 100
    )
    assert not any(isinstance(m, PublishRefused) for m in publisher.messages)


async def test_a_broker_that_cannot_reach_its_neighbour_serves_its_clients(brokers: Any) -> None:
    address = f"127.0.0.1:{free_port()}"
    broker = await brokers.start(neighbours={"c": NeighbourConfig(address=address)})
    client = await brokers.client(broker)
    await client.subscribe("s")

    await client.publish("p", 0, [b"hello"])

    assert await client.delivered("s", 1) == [b"hello"]


async def test_bad_selectors_are_refused_by_the_machine(brokers: Any) -> None:
    from penstock.services.guaranteed.messages import SubscribeRefused

    broker = await brokers.start()
    client = await brokers.client(broker)
    client.send(Subscribe("s", "topic ="))

    assert "selector" in (await client.heard(SubscribeRefused)).reason
