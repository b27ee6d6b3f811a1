"""A damaged disk: what the process says, what the command mends, and what readers get."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from penstock.net.process import BrokerFailed, BrokerProcess, free_port

MESSAGES = 20

RUN = "from penstock.cli.main import run; run()"


class Site:
    """A broker process, its directory and its clients."""

    def __init__(self, directory: Path) -> None:
        self.data_dir = directory / "data"
        port = free_port()
        self.url = f"penstock://127.0.0.1:{port}"
        config = directory / "b.toml"
        config.write_text(
            f'name = "b"\nlisten = "127.0.0.1:{port}"\ndata_dir = "{self.data_dir}"\n'
        )
        self.log_path = directory / "b.log"
        self.broker = BrokerProcess(config, self.log_path)

    @property
    def segment(self) -> Path:
        (path,) = (self.data_dir / "logs" / "pubend%2Fb.1").glob("*.segment")
        return path

    async def publish(self) -> None:
        async with penstock.connect(self.url) as client, client.subscribe(durable="me"):
            for number in range(MESSAGES):
                await client.publish({"n": number}, b"message %02d" % number)

    async def read(self) -> tuple[list[int], int]:
        """What a durable subscription gets up to a last message, and how many losses."""
        async with penstock.connect(self.url) as client:
            await client.publish({"n": MESSAGES}, b"the last one")
            numbers: list[int] = []
            losses = 0
            async with client.subscribe(durable="me") as subscription:
                while MESSAGES not in numbers:
                    try:
                        message = await subscription.next(deadline_s=60)
                    except penstock.DataLoss:
                        losses += 1
                    else:
                        numbers.append(int(message.attributes["n"]))
        return numbers, losses

    def run(self, *arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-c", RUN, "log", *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def damage(self) -> None:
        data = bytearray(self.segment.read_bytes())
        data[data.index(b"message 07")] ^= 1
        self.segment.write_bytes(data)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def test_a_damaged_log_is_found_mended_and_read(site: Site) -> None:
    with site.broker as broker:
        await site.publish()
        assert site.run("check", str(site.data_dir))[0] == 1, "the broker has it open"
        broker.terminate()
        assert site.run("check", str(site.data_dir))[0] == 0
        site.damage()
        status, said = site.run("check", str(site.data_dir))
        assert status == 1
        assert "is lost" in said
        status, said = site.run("salvage", str(site.data_dir))
        assert status == 0, said
        assert site.run("check", str(site.data_dir))[0] == 0
        broker.start()
        numbers, losses = await site.read()
    assert (numbers, losses) == ([n for n in range(MESSAGES + 1) if n != 7], 1)


async def test_a_tail_that_is_cut_off_after_a_kill_is_no_silent_loss(site: Site) -> None:
    with site.broker as broker:
        await site.publish()
        async with penstock.connect(site.url) as client:
            # The next change of the state writes down how far the log is durable.
            await client.move_cursor("c", {"b.1": 0})
        broker.kill()
        used = len(site.segment.read_bytes().rstrip(b"\0"))
        os.truncate(site.segment, used - 600)
        broker.start()
        numbers, losses = await site.read()
    assert losses == 1
    assert numbers[-1] == MESSAGES
    assert MESSAGES - 1 not in numbers
    assert "nothing in them was acknowledged" not in site.log_path.read_text().split("or they")[0]
    assert "is lost, and messages among it may have been acknowledged" in site.log_path.read_text()


async def test_a_missing_state_is_refused_with_the_way_on(site: Site) -> None:
    with site.broker as broker:
        await site.publish()
        broker.terminate()
        for path in site.data_dir.glob("state*"):
            path.unlink()
        with pytest.raises(BrokerFailed, match="penstock log salvage --new-state"):
            broker.start()
        status, said = site.run("salvage", str(site.data_dir), "--new-state")
        assert status == 0, said
        broker.start()
        async with (
            penstock.connect(site.url) as client,
            client.subscribe(start="earliest") as subscription,
        ):
            found = [(await subscription.next(deadline_s=60)).payload for _ in range(MESSAGES)]
    assert found[-1] == b"message %02d" % (MESSAGES - 1)
