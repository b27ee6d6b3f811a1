"""What is measured from a history of gossip peers."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.lab.oracle.gossip.history import METRICS, GossipHistory
from penstock.lab.oracle.gossip.peers import PeerHistory


def history_of(*names: str, group: str = "a") -> tuple[GossipHistory, list[PeerHistory]]:
    history = GossipHistory()
    return history, [history.start(name, group, now=0, remembers_events=99) for name in names]


def published(peer: PeerHistory, *, now: int) -> bytes:
    number, payload = peer.offer(16, now=now)
    peer.published(number, now=now)
    return payload


def values(history: GossipHistory, metric: str) -> dict[str, list[float]]:
    return {name: events.values.tolist() for name, events in history.events(metric).items()}


def instants(history: GossipHistory, metric: str) -> dict[str, list[int]]:
    return {name: events.at.tolist() for name, events in history.events(metric).items()}


def test_receivers_are_a_share_of_the_peers_and_include_the_publisher() -> None:
    history, (p, q, r, s) = history_of("p", "q", "r", "s")
    first, second = published(p, now=10), published(p, now=20)
    q.received([first, second], now=30)
    for peer in (r, s):
        peer.received([first], now=30)
    assert values(history, "receivers") == {"p": [1.0, 0.5]}
    assert instants(history, "receivers") == {"p": [10, 20]}
    assert values(history, "atomic") == {"p": [1.0, 0.0]}


def test_only_peers_that_were_present_at_the_publication_count() -> None:
    history, (p, q, r) = history_of("p", "q", "r")
    r.stop(now=5)
    payload = published(p, now=10)
    q.received([payload], now=20)
    newcomer = history.start("n", "a", now=15, remembers_events=99)
    newcomer.received([payload], now=30)
    assert values(history, "receivers") == {"p": [1.0]}


def test_a_peer_that_comes_back_is_not_there_in_between() -> None:
    history, (p, q) = history_of("p", "q")
    q.stop(now=5)
    away = published(p, now=10)
    history.start("q", "a", now=15, remembers_events=99)
    back = published(p, now=20)
    q.received([away], now=30)
    assert values(history, "receivers") == {"p": [1.0, 0.5]}
    q.received([back], now=40)
    assert values(history, "receivers") == {"p": [1.0, 1.0]}


def test_groups_do_not_count_for_each_other() -> None:
    history, (p, q) = history_of("p", "q")
    stranger = history.start("r", "b", now=0, remembers_events=99)
    q.received([published(p, now=10)], now=20)
    published(stranger, now=30)
    assert values(history, "receivers") == {"p": [1.0], "r": [1.0]}


def test_counts_have_their_instants() -> None:
    history, (p, q) = history_of("p", "q")
    payload = published(p, now=1 * SECOND)
    p.blocked(now=2 * SECOND)
    p.offer(16, now=3 * SECOND)
    p.refused(now=4 * SECOND)
    q.received([payload], now=5 * SECOND)
    assert instants(history, "offered") == {"p": [1 * SECOND, 2 * SECOND, 3 * SECOND]}
    assert instants(history, "published") == {"p": [1 * SECOND]}
    assert instants(history, "blocked") == {"p": [2 * SECOND]}
    assert instants(history, "refused") == {"p": [4 * SECOND]}
    assert instants(history, "delivered")["q"] == [5 * SECOND]
    assert values(history, "delay_s")["q"] == pytest.approx([4.0])
    assert history.delivered == 1
    assert {(name, metric): count for name, metric, count in history.totals()} == {
        ("p", "offered"): 3,
        ("p", "published"): 1,
        ("p", "blocked"): 1,
        ("p", "refused"): 1,
        ("p", "delivered"): 0,
        ("q", "offered"): 0,
        ("q", "published"): 0,
        ("q", "blocked"): 0,
        ("q", "refused"): 0,
        ("q", "delivered"): 1,
    }


def test_what_waits_is_pending_until_its_peer_is_gone() -> None:
    history, (p, _) = history_of("p", "q")
    p.offer(16, now=10)
    assert (p.waiting, history.pending) == (1, 1)
    p.stop(now=20)
    assert history.pending == 0
    history.start("p", "a", now=30, remembers_events=99)
    assert (p.waiting, history.pending) == (0, 0)
    p.offer(16, now=40)
    assert (p.waiting, history.pending) == (1, 1)


def test_every_metric_but_rules_has_events_in_an_empty_history() -> None:
    history = GossipHistory()
    for name, metric in METRICS.items():
        if metric.kind != "rule":
            assert history.events(name) == {}
    assert history.complete()
