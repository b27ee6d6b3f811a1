"""``penstock gossip`` as a person meets it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading

import pytest

from penstock.cli.gossip import gossip, why, why_text
from penstock.cli.main import status_of
from penstock.client.gossip import GossipPeer
from penstock.gossip.explanation import why as explain
from penstock.gossip.parameters import GossipParameters
from penstock.gossip.peer import Peer


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
def test_what_cannot_be_understood_is_told_in_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["gossip", *arguments]) == 2
    shown = capsys.readouterr().err.strip()
    assert told in shown
    assert "\n" not in shown


def test_lines_are_published_and_events_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe is written to by one peer in this process, and another prints what arrives."""
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
            await group.publish(b"answer", deadline_s=30.0)
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


def test_the_answer_names_every_number_that_decides() -> None:
    text = why_text(explain(Peer("me:1", GossipParameters(), 1, now=0), 0, now=0))
    for word in ("cause:", "buffers:", "age:", "tokens:", "copies:", "receipt:", "group:"):
        assert word in text


def test_why_asks_a_running_peer(capsys: pytest.CaptureFixture[str]) -> None:
    async def scene() -> None:
        async with GossipPeer("127.0.0.1:0") as peer:
            await peer.join("g")
            await asyncio.to_thread(why, peer.address, group="g", deadline=10.0, json=True)

    asyncio.run(scene())
    document = json.loads(capsys.readouterr().out)
    assert document["group"] == "g"
    assert document["allowed_rate_msgs_per_s"] == 0.5
