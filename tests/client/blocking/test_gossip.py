"""Gossip without an event loop: the same peer, from plain threads."""

from __future__ import annotations

import threading

import pytest

import penstock
from penstock.client.blocking.gossip import GossipPeer, gossip_peer
from penstock.client.errors import DeadlineExceeded, Disconnected
from penstock.services.gossip.parameters import GossipParameters

QUICK = GossipParameters().with_period(0.01)
PATIENCE_S = 20.0


def test_two_peers_talk() -> None:
    with gossip_peer() as first, penstock.blocking.gossip_peer(peers=[first.address]) as second:
        one, two = first.join("g", parameters=QUICK), second.join("g", parameters=QUICK)
        assert (one.name, one.missed) == ("g", 0)
        two.publish({"symbol": "ACME"}, b"101.5", deadline_s=PATIENCE_S)
        event = one.next(deadline_s=PATIENCE_S)
        assert (event.attributes, event.payload) == ({"symbol": "ACME"}, b"101.5")
        assert one.try_publish(payload=b"answer")
        assert two.next(deadline_s=PATIENCE_S).payload == b"answer"
        with pytest.raises(DeadlineExceeded, match="no event"):
            two.next(deadline_s=0.01)


def test_buffers_are_resized_while_it_runs() -> None:
    with gossip_peer(buffer_events=80) as peer:
        group = peer.join()
        peer.resize(30)
        assert group.why().own_buffer == 30
        assert peer.malformed_datagrams == 0


def test_an_iteration_ends_when_the_group_is_left() -> None:
    with gossip_peer() as peer:
        group = peer.join()
        seen: list[object] = []
        reader = threading.Thread(target=lambda: seen.extend(group))
        reader.start()
        group.leave()
        reader.join(PATIENCE_S)
        assert not reader.is_alive()
        assert seen == []
        with pytest.raises(Disconnected, match="join it again"):
            group.publish()


def test_a_peer_that_cannot_listen_says_so_and_one_closes_twice() -> None:
    with gossip_peer() as peer:
        with pytest.raises(OSError, match=r"cannot listen at 127.*: Address already in use"):
            gossip_peer(peer.address)
        peer.close()


def test_the_blocking_client_can_be_a_peer_too() -> None:
    made = penstock.blocking.Client.gossip
    with made(None, buffer_events=5) as peer:  # type: ignore[arg-type]
        assert isinstance(peer, GossipPeer)
