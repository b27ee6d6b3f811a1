"""Real brokers, and a client of which one subscription reads too slowly: nobody is disconnected."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.net.broker.config import NeighbourConfig, broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess, free_port
from penstock.services.guaranteed.parameters import GuaranteedParameters

ROWS = 64
PAYLOAD = bytes(1000)
WINDOW = 128 << 10
BUFFER = 512 << 10
BATCHES = 100
"""Six megabytes: ten times what the broker holds for a subscription."""

DEADLINE_S = 60.0


@pytest.fixture
def urls(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Where the messages are published, and a broker that is far from there."""
    ports = {"source": free_port(), "far": free_port()}
    others = {"source": "far", "far": "source"}
    with ExitStack() as running:
        for name, port in ports.items():
            config = broker_config(
                name=name,
                data_dir=str(tmp_path / name),
                listen=f"127.0.0.1:{port}",
                pubends=1 if name == "source" else 0,
                neighbours={others[name]: NeighbourConfig(f"127.0.0.1:{ports[others[name]]}")},
                guaranteed=GuaranteedParameters(session_buffer_bytes=BUFFER),
            )
            path = tmp_path / f"{name}.toml"
            write_config(path, config)
            running.enter_context(BrokerProcess(path, tmp_path / f"{name}.log"))
        yield {name: f"penstock://127.0.0.1:{port}" for name, port in ports.items()}


async def publish(publisher: penstock.Client, first: int) -> None:
    for number in range(first, first + BATCHES):
        rows = [({"n": number * ROWS + row}, PAYLOAD) for row in range(ROWS)]
        await publisher.publish_batch(rows)


async def numbers(subscription: Any) -> AsyncIterator[int]:
    async for batch in subscription.batches(deadline_s=DEADLINE_S):
        for attributes in batch.attributes:
            yield int(attributes["n"])


async def read(stream: AsyncIterator[int], first: int, end: int) -> None:
    """Read exactly these numbers, in order."""
    for expected in range(first, end):
        assert await anext(stream) == expected


def standing(status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in status["services"]["guaranteed"]["subscriptions"]}


@pytest.mark.parametrize("broker", ["source", "far"])
@pytest.mark.parametrize("durable", [None, "slow"])
async def test_a_slow_subscription_costs_its_client_nothing(
    urls: dict[str, str], broker: str, durable: str | None
) -> None:
    half, whole = BATCHES * ROWS, 2 * BATCHES * ROWS
    async with (
        penstock.connect(urls["source"]) as publisher,
        penstock.connect(urls[broker]) as client,
        client.subscribe(durable=durable, window_bytes=WINDOW) as slow,
        client.subscribe("n >= 0") as quick,
        client.subscribe(durable="also-quick") as also_quick,
    ):
        before = standing(await client.status())
        first, second, third = numbers(quick), numbers(also_quick), numbers(slow)
        await publish(publisher, 0)
        await read(first, 0, half)
        await read(second, 0, half)

        stands = standing(await client.status())[slow.name]
        assert stands["catching_up"] == ["source.1"]
        assert stands["times_slow"] == 1
        assert stands["buffered_bytes"] <= BUFFER + 2 * ROWS * len(PAYLOAD)
        (reader,) = (await client.why(slow.name))["readers"]
        assert reader["slow"]
        assert "it reads more slowly than is published" in reader["cause"]

        # It reads while more is published, and comes to the end with the others.
        await read(third, 0, half // 2)
        await publish(publisher, BATCHES)
        await read(third, half // 2, whole)
        await read(first, half, whole)
        await read(second, half, whole)
        after = standing(await client.status())
        assert {name: each["session"] for name, each in after.items()} == {
            name: each["session"] for name, each in before.items()
        }
