"""A broker whose disk fills up: the publisher is told, and nothing acknowledged is lost."""

from __future__ import annotations

from pathlib import Path

import penstock
from penstock.net.process import BrokerProcess, free_port

PAYLOAD = bytes(4000)
ROWS = 256
MOST_BATCHES = 200
"""Far more than the disk holds: a broker that never refuses fails the test and does not hang it."""


async def _publish_until_refused(
    client: penstock.Client,
) -> tuple[int, penstock.PublishRefusedError | None]:
    acknowledged = 0
    for _ in range(MOST_BATCHES):
        number = {"first": acknowledged}
        try:
            await client.publish_batch([(number, PAYLOAD)] * ROWS)
        except penstock.PublishRefusedError as refusal:
            return acknowledged, refusal
        acknowledged += ROWS
    return acknowledged, None


async def test_a_full_disk_is_told_and_loses_nothing(small_disk: Path, tmp_path: Path) -> None:
    port = free_port()
    url = f"penstock://127.0.0.1:{port}"
    config = tmp_path / "b.toml"
    config.write_text(
        f'name = "b"\nlisten = "127.0.0.1:{port}"\ndata_dir = "{small_disk / "data"}"\n'
    )
    with BrokerProcess(config, tmp_path / "b.log") as broker:
        async with penstock.connect(url) as client:
            acknowledged, refusal = await _publish_until_refused(client)
        assert acknowledged
        assert "space" in str(refusal)
        broker.kill()
        broker.start()
        async with (
            penstock.connect(url) as client,
            client.subscribe(start="earliest") as subscription,
        ):
            received: list[int] = []
            while len(received) < acknowledged:
                batch = await subscription.next_batch(deadline_s=30)
                received += [int(each["first"]) for each in batch.attributes]
    assert received == [row // ROWS * ROWS for row in range(acknowledged)]
