"""One peer is heard so much in a round, and no more."""

from __future__ import annotations

from penstock.services.gossip.flood_gate import FloodGate
from penstock.services.gossip.messages import event_id


def test_a_source_is_heard_up_to_its_limit_in_each_round() -> None:
    gate = FloodGate(source_limit=2, sources=9, origin_limit=9)
    assert [gate.admits_datagram("a") for _ in range(3)] == [True, True, False]
    assert gate.admits_datagram("b")
    gate.next_round()
    assert gate.admits_datagram("a")
    assert gate.refused_datagrams == 1


def test_the_number_of_sources_is_bounded() -> None:
    gate = FloodGate(source_limit=2, sources=2, origin_limit=9)
    assert [gate.admits_datagram(name) for name in "abca"] == [True, True, False, True]


def test_an_origin_is_stopped_at_twice_its_limit() -> None:
    gate = FloodGate(source_limit=2, sources=2, origin_limit=3)
    assert not gate.counts_origins
    gate.admitted(3)
    assert gate.counts_origins
    admitted = [gate.admits_event(event_id(1, number)) for number in range(5)]
    assert admitted == [True, True, True, False, False]
    assert gate.admits_event(event_id(2, 0))
    assert gate.refused_events == 2
