"""Tests of the judge: each rule is broken on purpose, and only that one is reported."""

from __future__ import annotations

import pytest

from penstock.lab.oracle.gossip.history import GossipHistory
from penstock.lab.oracle.gossip.judge import FORGOTTEN
from penstock.lab.oracle.gossip.payloads import SMALLEST_PAYLOAD_BYTES, payload_of
from penstock.lab.oracle.gossip.peers import PeerHistory

REMEMBERED = 4


class Told:
    """Three peers, of which the first publishes; the third is in another group."""

    def __init__(self) -> None:
        self.history = GossipHistory()
        self.sender, self.listener, self.stranger = (
            self.history.start(name, group, now=0, remembers_events=REMEMBERED)
            for name, group in (("p", "a"), ("q", "a"), ("r", "b"))
        )

    def publish(self, peer: PeerHistory | None = None, *, now: int = 10) -> bytes:
        peer = peer or self.sender
        number, payload = peer.offer(16, now=now)
        peer.published(number, now=now)
        return payload

    def broken(self) -> dict[str, int]:
        return {rule: count for rule, count in self.history.judge().broken.items() if count}


def test_a_good_history_breaks_no_rule() -> None:
    told = Told()
    payloads = [told.publish() for _ in range(3)]
    told.listener.received(payloads, now=20)
    told.stranger.received([told.publish(told.stranger)][:0], now=20)
    judgement = told.history.judge()
    assert judgement.violations == 0
    assert judgement.noted == {FORGOTTEN: 0}


def test_an_empty_history_breaks_no_rule() -> None:
    assert GossipHistory().judge().violations == 0
    assert Told().broken() == {}


def test_an_event_that_is_delivered_twice_is_duplicated() -> None:
    told = Told()
    payload = told.publish()
    told.listener.received([payload], now=20)
    told.listener.received([payload], now=30)
    assert told.broken() == {"duplicated": 1}
    assert told.history.judge().examples == ["q received event 0 more than once"]


def test_an_own_event_that_comes_back_is_duplicated() -> None:
    told = Told()
    told.sender.received([told.publish()], now=20)
    assert told.broken() == {"duplicated": 1}


def test_a_repeat_after_more_events_than_a_peer_remembers_is_only_noted() -> None:
    told = Told()
    first, *others = (told.publish() for _ in range(REMEMBERED + 1))
    told.listener.received([first, *others[:-1], first], now=20)
    assert told.broken() == {"duplicated": 1}
    told = Told()
    first, *others = (told.publish() for _ in range(REMEMBERED + 1))
    told.listener.received([first, *others, first], now=20)
    judgement = told.history.judge()
    assert (judgement.violations, judgement[FORGOTTEN]) == (0, 1)


def test_a_peer_that_starts_again_remembers_nothing() -> None:
    told = Told()
    payload = told.publish()
    told.listener.received([payload], now=20)
    told.listener.stop(now=25)
    told.history.start("q", "a", now=30, remembers_events=REMEMBERED)
    told.listener.received([payload], now=40)
    assert told.broken() == {}
    told.listener.received([payload], now=50)
    assert told.broken() == {"duplicated": 1}


def test_an_event_that_nobody_offered_is_unpublished() -> None:
    told = Told()
    told.listener.received([payload_of(99, 16)], now=20)
    assert told.broken() == {"unpublished": 1}


def test_an_event_that_was_offered_but_not_published_is_unpublished() -> None:
    told = Told()
    _, waiting = told.sender.offer(16, now=10)
    told.listener.received([waiting], now=20)
    assert told.broken() == {"unpublished": 1}


def test_an_event_that_is_received_before_its_publication_is_unpublished() -> None:
    told = Told()
    payload = told.publish(now=30)
    told.listener.received([payload], now=20)
    assert told.broken() == {"unpublished": 1}


def test_other_content_is_corrupted() -> None:
    told = Told()
    payload = told.publish()
    told.listener.received([payload[:-1] + bytes([payload[-1] ^ 1])], now=20)
    told.listener.received([payload[:-1]], now=20)
    assert told.broken() == {"corrupted": 2}


def test_an_event_of_another_group_is_foreign() -> None:
    told = Told()
    told.stranger.received([told.publish()], now=20)
    assert told.broken() == {"foreign": 1}
    assert told.history.judge().examples == ["r of group b received event 0 of group a"]


@pytest.mark.parametrize("size", [SMALLEST_PAYLOAD_BYTES, 13, 16, 300])
def test_a_payload_has_its_size_and_names_its_publication(size: int) -> None:
    payloads = {payload_of(number, size) for number in range(300)}
    assert len(payloads) == 300
    assert {len(payload) for payload in payloads} == {size}
