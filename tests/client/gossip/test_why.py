"""A running peer says what holds it back, to its own machine."""

from __future__ import annotations

import socket

import pytest

from penstock.client.errors import DeadlineExceeded
from penstock.client.gossip.gossip import GossipPeer
from penstock.client.gossip.why import ask_why

PATIENCE_S = 20.0


async def test_a_peer_on_this_machine_says_why() -> None:
    async with GossipPeer("127.0.0.1:0") as peer:
        await peer.join("g")
        answer = await ask_why(peer.address, "g", deadline_s=PATIENCE_S)
        assert answer.peer == peer.address
        with pytest.raises(DeadlineExceeded, match="no peer of group 'h'"):
            await ask_why(peer.address, "h", deadline_s=0.05)


async def test_an_answer_that_is_garbled_is_not_taken_for_one() -> None:
    async with GossipPeer("127.0.0.1:0") as peer:
        await peer.join("g")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(DeadlineExceeded, match="did not say why"):
                await ask_why(address, "g", deadline_s=0.05)


async def test_nobody_listens() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(DeadlineExceeded, match="no process listens"):
        await ask_why(address, deadline_s=PATIENCE_S)


async def test_an_address_that_is_none_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="write host:port"):
        await ask_why("nowhere")
