"""``penstock gossip`` from the user's side."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from penstock.cli.main import status_of
from penstock.cli.messaging.gossip import gossip
from penstock.client.gossip.gossip import GossipPeer
from penstock.services.gossip.parameters import GossipParameters
from penstock.services.gossip.peer import Peer
from penstock.services.gossip.why import why as explain
from penstock.services.gossip.why_text import why_text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--listen", "nowhere"], "'nowhere' is not an address: write host:port"),
        (["--peer", "nobody"], "'nobody' is not an address"),
        (["--fanout", "0"], "fanout"),
        (["--datagram-bytes", "99"], "datagram_bytes"),
        (["--attr", "x"], "write name=text"),
    ],
)
def test_invalid_options_are_reported_in_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["gossip", *arguments]) == 2
    shown = capsys.readouterr().err.strip()
    assert told in shown
    assert "\n" not in shown


def test_lines_are_published_and_events_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One peer in this process publishes the lines of a pipe, another prints the events."""
    reading, writing = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(reading))
    heard: list[bytes] = []

    async def listen(ready: threading.Event, address: list[str]) -> None:
        async with GossipPeer("127.0.0.1:0") as peer:
            group = await peer.join(
                "default", parameters=GossipParameters(gossip_period_ns=20_000_000)
            )
            address.append(peer.address)
            ready.set()
            heard.append((await group.next(deadline_s=30.0)).payload)
            await group.publish(payload=b"answer", deadline_s=30.0)
            await asyncio.to_thread(done.wait, 30.0)

    ready, done, address = threading.Event(), threading.Event(), list[str]()
    thread = threading.Thread(target=lambda: asyncio.run(listen(ready, address)))
    thread.start()
    assert ready.wait(30.0)
    os.write(writing, b"question\n")
    gossip(peer=(address[0],), period=0.02, count=1, deadline=30.0, json=True)
    done.set()
    thread.join()
    os.close(writing)
    shown = capsys.readouterr()
    assert heard == [b"question"]
    assert json.loads(shown.out)["payload"] == "answer"
    assert "in group 'default'" in shown.err


def test_the_answer_shows_every_number_of_the_decision() -> None:
    text = why_text(
        msgspec.structs.asdict(explain(Peer("me:1", GossipParameters(), 1, now=0), 0, now=0))
    )
    for word in ("cause:", "buffers:", "age:", "tokens:", "copies:", "receipt:", "group:"):
        assert word in text


@pytest.mark.parametrize("as_json", [True, False])
def test_why_asks_a_running_peer(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    async def scene() -> int:
        async with GossipPeer("127.0.0.1:0") as peer:
            await peer.join("g")
            arguments = ["why", peer.address, "--group", "g", "--deadline", "10"]
            return await asyncio.to_thread(status_of, [*arguments, "--json"][: 6 + as_json])

    assert asyncio.run(scene()) == 0
    shown = capsys.readouterr().out
    if as_json:
        document = json.loads(shown)
        assert (document["group"], document["allowed_rate_msgs_per_s"]) == ("g", 0.5)
    else:
        assert "may publish 0.5 msg/s and publishes 0; 0 publications waiting" in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["127.0.0.1:{port}"], "no process listens at 127.0.0.1:{port}: is the peer running?"),
        (["nowhere:99999"], "'nowhere:99999' is not an address: write host:port"),
    ],
)
def test_a_peer_that_is_not_running_is_reported_in_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    assert status_of(["why", *(each.format(port=port) for each in arguments)]) == 1
    assert told.format(port=port) in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, b"line\n"])
def test_input_without_readiness_events_is_read_directly(
    content: bytes | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A file, or no input: the peer continues to forward until its deadline."""
    path = Path(os.devnull) if content is None else tmp_path / "lines.txt"
    if content is not None:
        path.write_bytes(content)
    with path.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        gossip(period=0.01, deadline=0.1)
    assert "Traceback" not in capsys.readouterr().err


def test_telemetry_is_written_to_the_given_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(reading))
    gossip(period=0.01, deadline=0.2, telemetry=tmp_path)
    os.close(writing)
    tables = [pq.read_table(path) for path in tmp_path.glob("*.parquet")]
    assert "allowed_msgs_per_s" in tables[0]["metric"].to_pylist()
