"""Three broker processes in a row: what is published at one end is delivered at the other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.net.broker.config import DialConfig, NeighbourConfig, broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess, free_port
from penstock.services.guaranteed.messages import (
    OpenProducer,
    ProducerOpened,
    Publish,
    PublishReceipt,
)

PATIENCE_S = 60
NAMES = ("left", "middle", "right")
QUICK = DialConfig(first_delay_s=0.05, longest_delay_s=0.5)


@pytest.fixture
def row(tmp_path: Path) -> Iterator[dict[str, BrokerProcess]]:
    """left - middle - right; the middle one relays only."""
    addresses = {name: f"127.0.0.1:{free_port()}" for name in NAMES}
    neighbours = {"left": ("middle",), "middle": ("left", "right"), "right": ("middle",)}
    brokers = {}
    for name in NAMES:
        config = broker_config(
            name,
            name,
            listen=addresses[name],
            pubends=1 if name == "left" else 0,
            dial=QUICK,
            neighbours={each: NeighbourConfig(addresses[each]) for each in neighbours[name]},
        )
        write_config(tmp_path / f"{name}.toml", config)
        brokers[name] = BrokerProcess(tmp_path / f"{name}.toml", tmp_path / f"{name}.log")
    for broker in brokers.values():
        broker.launch()
    for broker in brokers.values():
        broker.wait_ready()
    yield brokers
    for broker in brokers.values():
        broker.kill()


async def linked(dial_client: Any, broker: BrokerProcess) -> Any:
    """A client of a broker, once all the broker's links are up."""
    client = await dial_client(*broker.address)
    async with asyncio.timeout(PATIENCE_S):
        while not all(link.up for link in (await client.status()).links.values()):
            pass
    return client


async def publish(client: Any, first: int, count: int) -> None:
    """Numbered messages, each in a batch of its own, all under way at once."""
    for number in range(first, first + count):
        client.send(Publish("p", number, Batch.from_rows([({"n": number}, b"%d" % number)])))
    stored = first + count
    await client.until(
        lambda: sum(m.count for m in client.messages if isinstance(m, PublishReceipt)) >= stored
    )


async def test_nothing_is_lost_or_repeated_when_the_middle_broker_is_killed(
    row: dict[str, BrokerProcess], dial_client: Any
) -> None:
    publisher = await linked(dial_client, row["left"])
    await linked(dial_client, row["middle"])
    subscriber = await linked(dial_client, row["right"])
    await subscriber.subscribe("s", "n >= 0", window_bytes=1 << 24)
    publisher.send(OpenProducer("p"))
    await publisher.heard(ProducerOpened)
    await publish(publisher, 0, 100)
    assert await subscriber.delivered("s", 100) == [b"%d" % n for n in range(100)]

    row["middle"].kill()
    await publish(publisher, 100, 100)
    row["middle"].start()
    await publish(publisher, 200, 100)

    assert await subscriber.delivered("s", 300) == [b"%d" % n for n in range(300)]


async def test_nothing_is_lost_or_repeated_when_the_source_is_killed(
    row: dict[str, BrokerProcess], dial_client: Any
) -> None:
    publisher = await linked(dial_client, row["left"])
    subscriber = await linked(dial_client, row["right"])
    await subscriber.subscribe("s", window_bytes=1 << 24)
    publisher.send(OpenProducer("p"))
    await publisher.heard(ProducerOpened)
    await publish(publisher, 0, 100)

    row["left"].kill()
    await publisher.closed()
    row["left"].start()
    publisher = await dial_client(*row["left"].address)
    publisher.send(OpenProducer("p"))
    assert (await publisher.heard(ProducerOpened)).next_sequence == 100
    # A cautious producer repeats what it is not sure of.
    for number in range(50, 200):
        publisher.send(Publish("p", number, Batch.from_rows([({}, b"%d" % number)])))

    assert await subscriber.delivered("s", 200) == [b"%d" % n for n in range(200)]
