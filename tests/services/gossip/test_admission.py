"""Publications are refused with a reason; one peer's datagrams and events are bounded."""

from __future__ import annotations

import pytest

from penstock.services.gossip.admission import FloodGate, publication_objection
from penstock.services.gossip.facts import PublishEvent
from penstock.services.gossip.messages import Event, event_id
from penstock.services.gossip.packing import event_bytes

ROOM_BYTES = event_bytes(Event(event_id(1, 1), bytes(100)))


def objection(publication: PublishEvent, waiting: int = 0) -> str:
    return publication_objection(
        publication, room_bytes=ROOM_BYTES, waiting=waiting, most_waiting=3, rate_msgs_per_s=0.5
    )


def test_a_publication_that_fits_is_accepted() -> None:
    assert objection(PublishEvent(1, bytes(100)), waiting=2) == ""


@pytest.mark.parametrize(
    ("publication", "waiting", "said"),
    [
        (PublishEvent(1, bytes(101)), 0, f"takes {ROOM_BYTES + 1} bytes and a datagram has room"),
        (PublishEvent(1, b"", {"n": 2**63}), 0, "outside the 64-bit range"),
        (PublishEvent(1, b"x"), 3, "3 publications wait already; the group allows this peer 0.5"),
    ],
)
def test_a_refused_publication_is_told_why(
    publication: PublishEvent, waiting: int, said: str
) -> None:
    assert said in objection(publication, waiting)


def test_datagrams_of_a_source_are_admitted_up_to_its_limit_in_each_round() -> None:
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
